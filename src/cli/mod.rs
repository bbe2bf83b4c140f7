//! One file per command; builds and joins the parts. The only place that prints.

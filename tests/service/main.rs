//! The local service, driven over HTTP as any client would.

mod main_job;
mod support;

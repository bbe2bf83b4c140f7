//! The service's language: ids, records, states, paths and error bodies. Does no I/O.

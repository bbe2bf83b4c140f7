//! Uploads of drafts, with all kinds of failures.

mod held_back;
mod lost;
mod refused;
mod taken_back;
mod together;
mod whole;

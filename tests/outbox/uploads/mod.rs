//! Drafts on their way to the service, with everything that can go wrong there.

mod held_back;
mod lost;
mod taken_back;
mod whole;

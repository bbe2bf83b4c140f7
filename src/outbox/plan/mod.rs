//! What to do next, as pure functions of what the journal says, what is on disk and what the service
//! says: for uploads and what they leave ([`upload`]), for the files of drop folders and requests that were
//! lost ([`jobs`]), for the texts of presets ([`presets`]), and what an error tells about the effect of a
//! call ([`effect`]).
//!
//! Whoever executes a step does that one step and asks again, after a crash as well. Nothing here reads
//! a clock, a file or an answer, so everything here can be tried in every order.

pub mod effect;
pub mod jobs;
pub mod presets;
pub mod upload;

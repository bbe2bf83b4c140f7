//! The ways to the account: each does what a history says and shows what is there.

pub mod api;
pub mod calls;
pub mod core;
pub mod drive;
pub mod kernel;
pub mod picture;
pub mod smb;

use rustix::io::Errno;

use crate::history::Op;
use crate::model::{Model, Outcome};
use crate::world::World;

/// One way of one actor.
pub trait Front {
    /// Does what a user does, and returns what the program is told.
    fn act(&mut self, op: &Op) -> Outcome;

    /// Whether what an operation does is up to the drive.
    fn can(&self, _model: &Model, _op: &Op) -> bool {
        true
    }

    /// The error number that a program gets for `error` on this front: another one if the front has no number for it.
    fn told(&self, error: Errno) -> Errno {
        error
    }

    /// Fills the disk that the state of the drive is on, or frees it again.
    fn fill_disk(&mut self, _is_full: bool) {}

    /// What is shown, a sorted line for each file, folder and object.
    fn picture(&mut self) -> Vec<String>;

    /// The picture that the model has.
    fn expected(&self, model: &Model) -> Vec<String>;

    /// The drive ends and comes back; without a drive nothing happens.
    fn restart(&mut self, _world: &World, _ending: Ending) {}
}

/// How a drive ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Unmounted,
    Killed,
}

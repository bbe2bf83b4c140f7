//! Open files and folders: the table of handles, what each kind of handle buffers, and what is fetched ahead of
//! readers.

pub(super) mod ahead;
pub(super) mod control;
pub(super) mod folder;
pub(super) mod handles;
pub(super) mod overwrite;
pub(super) mod recopy;
pub(super) mod text;

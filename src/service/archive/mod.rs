//! Zip archives: packed on the fly for downloads, unpacked under limits for uploads.

mod pack;
mod unpack;

pub use pack::{Content, Entry, Pack};
pub use unpack::{UnpackError, unpack};

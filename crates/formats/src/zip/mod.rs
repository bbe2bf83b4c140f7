//! The zip format, in one place for its writer and its readers: signatures, lengths, times.
//!
//! [`ZipHeaders`] lays out archives that are streamed. [`end_records`], [`Extent`] and [`parse_directory`] read the end
//! and the directory of an archive from bytes that the caller has read, from a local file or by ranges from the service.

mod dos_time;
mod layout;
mod read;
mod write;

pub use layout::{END_RECORD, LOCAL_HEADER, LOCAL_HEADER_BYTES};
pub use read::{
    DamagedZip, END_RECORD_BYTES, END64_BYTES, EndRecord, Extent, MAX_TAIL_BYTES, Method,
    ZipMember, end_records, local_data_at, parse_directory,
};
pub use write::{ZipEntry, ZipHeaders};

//! The zip format, in one place for its writer and its readers: signatures, lengths, times.
//!
//! [`ZipHeaders`] lays out archives that are streamed. [`end_records`], [`Extent`] and [`parse_directory`] read the end
//! and the directory of an archive from bytes that the caller has read, from a local file or by ranges from the service.

mod dos_time;
mod read;
mod write;

pub use read::{
    DamagedZip, END_RECORD_BYTES, END64_BYTES, EndRecord, Extent, MAX_TAIL_BYTES, Method,
    ZipMember, end_records, local_data_at, parse_directory,
};
pub use write::{ZipEntry, ZipHeaders};

/// Starts the header before the bytes of an entry.
pub const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
/// Starts an entry of the directory.
const DIRECTORY_ENTRY: &[u8; 4] = b"PK\x01\x02";
/// Starts the end record, which an archive without entries consists of.
pub const END_RECORD: &[u8; 4] = b"PK\x05\x06";
/// Starts the end record with 64-bit values.
const END64: &[u8; 4] = b"PK\x06\x06";
/// Starts the locator of the 64-bit end record.
const END64_LOCATOR: &[u8; 4] = b"PK\x06\x07";
/// A local header without its name.
pub const LOCAL_HEADER_BYTES: u64 = 30;
/// The value of a short field whose actual value is in a zip64 record.
const IN_ZIP64: u32 = u32::MAX;
/// The tag of the extra field with 64-bit values.
const EXTRA_ZIP64: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

//! Signatures, lengths and values that the writer and the readers of zips share.

/// Starts the header before the bytes of an entry.
pub const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
/// Starts an entry of the directory.
pub(super) const DIRECTORY_ENTRY: &[u8; 4] = b"PK\x01\x02";
/// Starts the end record, which an archive without entries consists of.
pub const END_RECORD: &[u8; 4] = b"PK\x05\x06";
/// Starts the end record with 64-bit values.
pub(super) const END64: &[u8; 4] = b"PK\x06\x06";
/// Starts the locator of the 64-bit end record.
pub(super) const END64_LOCATOR: &[u8; 4] = b"PK\x06\x07";
/// A local header without its name.
pub const LOCAL_HEADER_BYTES: u64 = 30;
/// The value of a short field whose actual value is in a zip64 record.
pub(super) const IN_ZIP64: u32 = u32::MAX;
/// The tag of the extra field with 64-bit values.
pub(super) const EXTRA_ZIP64: u16 = 1;
/// The tag of the extra field with times to the second ("UT"), and the flag that it has the modification time.
pub(super) const EXTRA_TIMES: u16 = 0x5455;
pub(super) const HAS_MODIFIED: u8 = 1;
pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;

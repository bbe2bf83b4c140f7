//! How far reading runs ahead.

/// How far reading runs ahead, for a whole mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingLimits {
    /// Bytes that may be under way at once without anybody waiting for them.
    pub ahead_bytes: u64,
    /// How far ahead of one reader.
    pub window_bytes: u64,
    /// The longest range of one request.
    pub request_bytes: u64,
}

impl Default for ReadingLimits {
    fn default() -> ReadingLimits {
        ReadingLimits {
            ahead_bytes: 128 << 20,
            window_bytes: 128 << 20,
            request_bytes: 8 << 20,
        }
    }
}

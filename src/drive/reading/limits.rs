//! Limits of read-ahead.

/// Limits of read-ahead for a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingLimits {
    /// Maximum number of read-ahead bytes in flight.
    pub ahead_bytes: u64,
    /// Maximum read-ahead of one reader.
    pub window_bytes: u64,
    /// Maximum range of one request.
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

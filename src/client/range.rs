//! Reading a part of the object behind a signed URL.

use super::Client;
use super::body::ByteStream;
use super::error::ClientError;
use super::meta::ObjectMeta;
use crate::wire::SignedUrl;

/// A part of an object, on its way.
pub struct RangeReply {
    /// The object as it is now.
    pub meta: ObjectMeta,
    /// Whether the server sent the part alone; otherwise the rest was skipped here.
    pub partial: bool,
    /// How many bytes the stream gives, where known: what was asked for, clipped to the object's end.
    pub len: Option<u64>,
    /// Exactly these bytes; ends with an error when they do not all come.
    pub stream: ByteStream,
}

impl std::fmt::Debug for RangeReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeReply")
            .field("meta", &self.meta)
            .field("partial", &self.partial)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Reads `len` bytes from `offset`, or to the end. With `if_range` (an ETag as it came) an object that
    /// is no longer the same is [`ClientError::Changed`]. A range that begins at or behind the end is empty.
    ///
    /// A break in the middle is repaired where the object has a strong ETag: the stream goes on where it
    /// stopped, and never mixes two versions.
    pub async fn get_range(
        &self,
        url: &SignedUrl,
        offset: u64,
        len: Option<u64>,
        if_range: Option<&str>,
    ) -> Result<RangeReply, ClientError> {
        let _ = (url, offset, len, if_range);
        todo!()
    }
}

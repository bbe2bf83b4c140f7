//! Reading through signed URLs: exactly the bytes of one version, or an error.

mod altered;
mod connections;
mod exact;
mod repaired;
mod sizes;

use assetfs::client::{ClientError, RangeReply};
use futures_util::TryStreamExt;

async fn bytes_of(reply: RangeReply) -> Result<Vec<u8>, ClientError> {
    let len = reply.len;
    let bytes = reply.stream.try_collect::<Vec<_>>().await?.concat();
    if let Some(len) = len {
        assert_eq!(bytes.len() as u64, len, "the length that was announced");
    }
    Ok(bytes)
}

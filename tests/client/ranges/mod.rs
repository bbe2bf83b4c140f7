//! Reading through signed URLs: exactly the bytes of one version, or an error.

mod altered;
mod connections;
mod exact;
mod repaired;
mod sizes;

use assetfs::client::{Client, ClientError, RangeReply};
use futures_util::TryStreamExt;

use crate::fault_server::FaultServer;
use crate::signed;

/// Reads `len` bytes of a file from `offset` on.
async fn range_of(
    client: &Client,
    server: &FaultServer,
    offset: u64,
    len: u64,
) -> Result<RangeReply, ClientError> {
    let url = signed(server, "a");
    let transfers = client.transfers();
    transfers.get_range(&url, offset, Some(len), None).await
}

async fn bytes_of(reply: RangeReply) -> Result<Vec<u8>, ClientError> {
    let len = reply.len;
    let bytes = reply.stream.try_collect::<Vec<_>>().await?.concat();
    if let Some(len) = len {
        assert_eq!(bytes.len() as u64, len, "the length that was announced");
    }
    Ok(bytes)
}

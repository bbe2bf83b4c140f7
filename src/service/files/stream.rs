//! Reading a blob as a stream of parts, one part in memory at a time.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use tokio::task::spawn_blocking;

/// The bytes of a range, in order.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The first part is small, so that small reads are fast; the next ones are large.
const FIRST_PART_BYTES: u64 = 64 << 10;
const PART_BYTES: u64 = 512 << 10;

pub(super) fn nothing() -> ByteStream {
    Box::pin(stream::empty())
}

/// The bytes of `range` in a file.
pub(super) fn of_file(file: File, range: Range<u64>) -> ByteStream {
    let file = Arc::new(file);
    let parts = stream::try_unfold((range, FIRST_PART_BYTES), move |(range, part)| {
        let file = Arc::clone(&file);
        async move {
            if range.is_empty() {
                return Ok(None);
            }
            let end = range.end.min(range.start + part);
            let len = usize::try_from(end - range.start).expect("a part is small");
            let reading = spawn_blocking(move || {
                let mut buffer = vec![0; len];
                file.read_exact_at(&mut buffer, range.start)?;
                Ok::<_, io::Error>(Bytes::from(buffer))
            });
            let bytes = reading.await.map_err(io::Error::other)??;
            Ok(Some((bytes, (end..range.end, PART_BYTES))))
        }
    });
    Box::pin(parts)
}

/// The stream of a store that is not a folder. Fails if it ends before `len` bytes.
pub(super) fn of_store(
    parts: BoxStream<'static, Result<Bytes, object_store::Error>>,
    len: u64,
) -> ByteStream {
    let parts = stream::try_unfold((parts, len), |(mut parts, missing)| async move {
        match parts.next().await {
            Some(part) => {
                let part = part.map_err(io::Error::other)?;
                let missing = missing.saturating_sub(part.len() as u64);
                Ok(Some((part, (parts, missing))))
            }
            None if missing > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            None => Ok(None),
        }
    });
    Box::pin(parts)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use futures_util::TryStreamExt as _;

    use super::*;

    #[tokio::test]
    async fn a_range_comes_whole_and_in_order() {
        let content: Vec<u8> = (0..1_500_000_u32).map(|at| (at % 251) as u8).collect();
        for range in [0..1_500_000_u64, 10..11, 65_536..65_537, 100..1_400_000] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&content).unwrap();
            let parts: Vec<Bytes> = of_file(file, range.clone()).try_collect().await.unwrap();
            let expected = &content[range.start as usize..range.end as usize];
            assert!(parts.concat() == expected, "{range:?}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_too_short_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(of_file(file, 0..5).try_collect::<Vec<_>>().await.is_err());
    }
}

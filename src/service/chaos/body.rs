//! Response bodies that are cut, slow or of unknown length.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};

/// Parts per second of a slow body.
const PARTS_PER_SECOND: u64 = 10;

fn cut() -> axum::Error {
    axum::Error::new(io::Error::from(io::ErrorKind::ConnectionReset))
}

/// The first `bytes` of a body, then an error instead of the rest.
pub fn cut_after(body: Body, bytes: u64) -> Body {
    let parts = body.into_data_stream().boxed();
    let cut_parts = stream::unfold(Some((parts, bytes)), |state| async move {
        let (mut parts, left) = state?;
        if left == 0 {
            return Some((Err(cut()), None));
        }
        match parts.next().await? {
            Ok(part) => {
                let len = usize::try_from(left).unwrap_or(usize::MAX).min(part.len());
                let rest = left - len as u64;
                Some((Ok(part.slice(..len)), Some((parts, rest))))
            }
            Err(error) => Some((Err(error), None)),
        }
    });
    Body::from_stream(cut_parts)
}

/// A body of unknown length.
pub fn of_unknown_length(body: Body) -> Body {
    Body::from_stream(body.into_data_stream())
}

/// A body that is sent slowly.
pub fn drip(body: Body, bytes_per_second: u64) -> Body {
    let len = usize::try_from(bytes_per_second.div_ceil(PARTS_PER_SECOND)).unwrap_or(usize::MAX);
    let pause = Duration::from_millis(1_000 / PARTS_PER_SECOND);
    let parts = body.into_data_stream();
    let drops = parts.flat_map(move |part| match part {
        Ok(part) => drops_of(part, len).map(Ok).boxed(),
        Err(error) => stream::iter([Err(error)]).boxed(),
    });
    let slow = drops.then(move |drop| async move {
        tokio::time::sleep(pause).await;
        drop
    });
    Body::from_stream(slow)
}

fn drops_of(part: Bytes, len: usize) -> impl Stream<Item = Bytes> {
    let starts = (0..part.len()).step_by(len.max(1));
    stream::iter(starts.map(move |start| part.slice(start..part.len().min(start + len))))
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[tokio::test]
    async fn a_body_is_cut_at_its_byte() {
        let mut parts = cut_after(Body::from("hello world"), 5).into_data_stream();
        assert_eq!(parts.next().await.unwrap().unwrap(), "hello");
        assert!(parts.next().await.unwrap().is_err());
        assert!(parts.next().await.is_none());
        let whole = cut_after(Body::from("hello"), 6);
        assert_eq!(to_bytes(whole, 99).await.unwrap(), "hello");
    }

    #[tokio::test(start_paused = true)]
    async fn a_dripping_body_takes_its_time() {
        let began = tokio::time::Instant::now();
        let body = drip(Body::from(vec![1; 1_000]), 100);
        assert_eq!(to_bytes(body, 9_999).await.unwrap().len(), 1_000);
        assert_eq!(began.elapsed().as_secs(), 10);
    }
}

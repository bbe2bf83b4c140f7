//! Bandwidth limits: all transfers of one direction share one token bucket.
//!
//! A transfer takes its turn piece by piece in order of arrival, so parallel transfers get equal shares and each of
//! them keeps moving.

use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use tokio::time::{Instant, sleep_until};

use crate::locks::Locked;

/// How long an idle bucket saves up.
const BURST: Duration = Duration::from_millis(250);
/// Pieces of a transfer: a fiftieth of a second within these limits.
const PIECES_A_SECOND: u64 = 50;
const MIN_PIECE_BYTES: u64 = 16 << 10;
const MAX_PIECE_BYTES: u64 = 1 << 20;

/// The limit of one direction. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Bandwidth(Option<Arc<Bucket>>);

#[derive(Debug)]
struct Bucket {
    bytes_per_second: u64,
    /// When the bytes that were taken so far have passed.
    passed_at: Mutex<Instant>,
}

impl Bandwidth {
    /// `None` is no limit.
    pub(super) fn new(bytes_per_second: Option<NonZeroU64>) -> Bandwidth {
        Bandwidth(bytes_per_second.map(|bytes_per_second| {
            Arc::new(Bucket {
                bytes_per_second: bytes_per_second.get(),
                passed_at: Mutex::new(Instant::now()),
            })
        }))
    }

    /// The same bytes, at most as fast as the limit allows.
    pub(super) fn limit<E: Send + 'static>(
        &self,
        transfer: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Pin<Box<dyn Stream<Item = Result<Bytes, E>> + Send>> {
        let Some(bucket) = self.0.clone() else {
            return transfer.boxed();
        };
        let len = bucket.piece_len();
        let pieces = transfer.flat_map(move |chunk| stream::iter(pieces(chunk, len)));
        let limited = pieces.then(move |piece| {
            let bucket = Arc::clone(&bucket);
            async move {
                if let Ok(bytes) = &piece {
                    bucket.take(bytes.len() as u64).await;
                }
                piece
            }
        });
        limited.boxed()
    }
}

impl Bucket {
    fn piece_len(&self) -> usize {
        let len = self.bytes_per_second / PIECES_A_SECOND;
        len.clamp(MIN_PIECE_BYTES, MAX_PIECE_BYTES) as usize
    }

    /// Waits until `bytes` more may have passed.
    async fn take(&self, bytes: u64) {
        let seconds = bytes as f64 / self.bytes_per_second as f64;
        let until = {
            let now = Instant::now();
            let mut passed_at = self.passed_at.locked();
            let start = (*passed_at).max(now.checked_sub(BURST).unwrap_or(now));
            *passed_at = start + Duration::from_secs_f64(seconds);
            *passed_at
        };
        sleep_until(until).await;
    }
}

fn pieces<E>(chunk: Result<Bytes, E>, len: usize) -> Vec<Result<Bytes, E>> {
    let mut rest = match chunk {
        Ok(rest) => rest,
        Err(error) => return vec![Err(error)],
    };
    let mut pieces = Vec::with_capacity(rest.len() / len + 1);
    while rest.len() > len {
        pieces.push(Ok(rest.split_to(len)));
    }
    pieces.push(Ok(rest));
    pieces
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::future::join_all;

    use super::*;

    const MIB: usize = 1 << 20;

    fn bandwidth(bytes_per_second: u64) -> Bandwidth {
        Bandwidth::new(NonZeroU64::new(bytes_per_second))
    }

    fn transfer(len: usize) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        let chunks: Vec<_> = bytes.chunks(300_000).map(Bytes::copy_from_slice).collect();
        stream::iter(chunks.into_iter().map(Ok))
    }

    async fn seconds(run: impl Future) -> f64 {
        let start = Instant::now();
        run.await;
        start.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn all_transfers_together_keep_the_limit_and_get_equal_shares() {
        let shared = bandwidth(MIB as u64);
        let mut longest_wait: f64 = 0.0;
        let transfers = (0..4).map(|_| async {
            let mut limited = shared.limit(transfer(5 * MIB));
            let (mut len, mut wait, mut last) = (0, 0.0_f64, Instant::now());
            while let Some(piece) = limited.next().await {
                len += piece.unwrap().len();
                wait = wait.max(last.elapsed().as_secs_f64());
                last = Instant::now();
            }
            assert_eq!(len, 5 * MIB);
            wait
        });
        let start = Instant::now();
        for wait in join_all(transfers).await {
            longest_wait = longest_wait.max(wait);
        }
        let took = start.elapsed().as_secs_f64();
        assert!((19.0..20.5).contains(&took), "{took} s for 20 MiB");
        assert!(longest_wait < 0.2, "one of them waited {longest_wait} s");
    }

    #[tokio::test(start_paused = true)]
    async fn the_bytes_stay_the_same_and_without_a_limit_nothing_waits() {
        for limit in [0, 64 << 10, 1 << 30] {
            let limited = bandwidth(limit).limit(transfer(MIB));
            let start = Instant::now();
            let pieces: Vec<_> = limited.map(Result::unwrap).collect().await;
            let whole: Vec<_> = transfer(MIB).map(Result::unwrap).collect().await;
            assert!(pieces.concat() == whole.concat(), "{limit}");
            if limit == 0 {
                assert_eq!(start.elapsed(), Duration::ZERO);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_time_saves_up_a_quarter_of_a_second_and_no_more() {
        let shared = bandwidth(MIB as u64);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let took = seconds(shared.limit(transfer(MIB)).collect::<Vec<_>>()).await;
        assert!((0.7..0.8).contains(&took), "{took} s for 1 MiB");
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_passes_at_once() {
        let failing = stream::iter([Err(io::Error::other("broken"))]);
        let took = seconds(bandwidth(1).limit(failing).collect::<Vec<_>>()).await;
        assert_eq!(took, 0.0);
    }
}

//! The signed URL of one object: requested once for all fetches, and renewed once if several find it refused.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::error::ReadError;
use crate::drive::error::DriveError;
use crate::locks::Locked;
use crate::wire::{SignedUrl, Timestamp};

/// A URL is renewed this long before it expires.
const LIFE_LEFT: Duration = Duration::from_secs(30);

/// The future of [`SignedUrls::url`].
pub type UrlFuture<'a> = Pin<Box<dyn Future<Output = Result<SignedUrl, DriveError>> + Send + 'a>>;

/// Supplies the signed URLs of an object.
pub trait SignedUrls: Send + Sync {
    /// The URL; with `renew` a new one, because the last was refused or expires soon.
    fn url(&self, renew: bool) -> UrlFuture<'_>;
}

/// The URL of an object, shared by its fetches.
pub(super) struct UrlKeeper {
    source: Arc<dyn SignedUrls>,
    current: Mutex<Generation>,
}

#[derive(Clone, Default)]
struct Generation {
    number: u64,
    cell: Arc<OnceCell<Obtained>>,
}

#[derive(Clone)]
struct Obtained {
    url: SignedUrl,
    at: Instant,
}

/// A URL with its sequence number.
#[derive(Debug, Clone)]
pub(super) struct KeptUrl {
    pub(super) url: SignedUrl,
    number: u64,
}

impl UrlKeeper {
    pub(super) fn new(source: Arc<dyn SignedUrls>) -> UrlKeeper {
        UrlKeeper {
            source,
            current: Mutex::default(),
        }
    }

    /// The URL to use now.
    pub(super) async fn get(&self) -> Result<KeptUrl, ReadError> {
        let generation = self.current();
        let kept = self.obtain(generation).await?;
        if kept.1.is_about_to_end() {
            return self.renew(&kept.0).await;
        }
        Ok(kept.0)
    }

    /// A newer URL than this one, which was refused.
    pub(super) async fn renew(&self, refused: &KeptUrl) -> Result<KeptUrl, ReadError> {
        let generation = {
            let mut current = self.current.locked();
            if current.number == refused.number {
                *current = Generation {
                    number: refused.number + 1,
                    cell: Arc::default(),
                };
            }
            current.clone()
        };
        Ok(self.obtain(generation).await?.0)
    }

    fn current(&self) -> Generation {
        self.current.locked().clone()
    }

    /// The first caller requests it; others wait for the answer.
    async fn obtain(&self, generation: Generation) -> Result<(KeptUrl, Obtained), ReadError> {
        let number = generation.number;
        let ask = || async {
            let url = self.source.url(number > 0).await?;
            Ok(Obtained {
                url,
                at: Instant::now(),
            })
        };
        let obtained = generation
            .cell
            .get_or_try_init(ask)
            .await
            .map_err(ReadError::NoUrl)?
            .clone();
        let kept = KeptUrl {
            url: obtained.url.clone(),
            number,
        };
        Ok((kept, obtained))
    }
}

impl Obtained {
    /// URLs with a shorter lifetime are not renewed before each request.
    fn is_about_to_end(&self) -> bool {
        let Some(end) = self.url.expires_at() else {
            return false;
        };
        let left = end.unix_seconds() - Timestamp::now().unix_seconds();
        left < LIFE_LEFT.as_secs() as i64 && self.at.elapsed() > LIFE_LEFT
    }
}

impl std::fmt::Debug for UrlKeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UrlKeeper").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counting {
        asked: AtomicU32,
        renewed: AtomicU32,
    }

    impl SignedUrls for Counting {
        fn url(&self, renew: bool) -> UrlFuture<'_> {
            Box::pin(async move {
                tokio::task::yield_now().await;
                let number = self.asked.fetch_add(1, Ordering::SeqCst);
                self.renewed.fetch_add(u32::from(renew), Ordering::SeqCst);
                Ok(SignedUrl::new(format!(
                    "https://files.example/{number}?s=1"
                )))
            })
        }
    }

    #[tokio::test]
    async fn many_who_find_a_url_refused_renew_it_once() {
        let source = Arc::new(Counting::default());
        let urls = Arc::new(UrlKeeper::new(source.clone()));
        let first = urls.get().await.unwrap();
        let renewals = (0..20).map(|_| {
            let (urls, first) = (urls.clone(), first.clone());
            tokio::spawn(async move { urls.renew(&first).await.unwrap().url })
        });
        for renewal in renewals.collect::<Vec<_>>() {
            assert!(renewal.await.unwrap().expose().contains("/1?"));
        }
        assert!(urls.get().await.unwrap().url.expose().contains("/1?"));
        assert_eq!(source.asked.load(Ordering::SeqCst), 2);
        assert_eq!(source.renewed.load(Ordering::SeqCst), 1);
    }
}

//! Whether and when a failed request is repeated, and the loop that repeats it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rand::RngExt;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::config::RetryPolicy;
use super::error::ClientError;
use super::meta::http_date;
use crate::backoff::Backoff;
use crate::wire::Timestamp;

type FailureReport = Arc<dyn Fn(&ClientError) + Send + Sync>;

tokio::task_local! {
    static REPORT: FailureReport;
}

/// Runs `calls`, and reports each failure of a call in it that is repeated, before the pause. So a status can give the
/// reason while the call still waits.
pub async fn reporting_failures<F: Future>(
    report: impl Fn(&ClientError) + Send + Sync + 'static,
    calls: F,
) -> F::Output {
    REPORT.scope(Arc::new(report), calls).await
}

/// Reports a failure before the pause after which its call is repeated.
pub(super) fn report_repeated(error: &ClientError) {
    // Fails outside of `reporting_failures`; then there is no receiver.
    let _ = REPORT.try_with(|report| report(error));
}

impl RetryPolicy {
    /// The pause before the next attempt, or `None` if there is none. `failed` attempts were made, the
    /// first of them `elapsed` ago.
    fn pause(
        &self,
        error: &ClientError,
        failed: u32,
        elapsed: Duration,
        patience: Duration,
    ) -> Option<Duration> {
        if !error.is_transient() || failed >= self.attempts {
            return None;
        }
        let pause = self.jittered(failed) + error.retry_after().unwrap_or_default();
        (elapsed + pause <= patience).then_some(pause)
    }

    /// Repeats `attempt` until it succeeds or the policy ends. It gets the number of failed attempts.
    /// `patience` limits the time of all attempts; without it there is one attempt.
    pub(super) async fn repeat<T, R>(
        &self,
        what: &str,
        patience: Option<Duration>,
        attempt: impl Fn(u32) -> R,
    ) -> Result<T, ClientError>
    where
        R: Future<Output = Result<T, ClientError>>,
    {
        let started = tokio::time::Instant::now();
        let mut failed = 0;
        loop {
            let error = match attempt(failed).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            failed += 1;
            let pause = patience
                .and_then(|patience| self.pause(&error, failed, started.elapsed(), patience));
            let Some(pause) = pause else {
                return Err(error);
            };
            tracing::debug!(what, attempt = failed, %error, ?pause, "repeating a request");
            report_repeated(&error);
            tokio::time::sleep(pause).await;
        }
    }

    /// A random pause between zero and a bound that doubles with each failure (full jitter).
    pub(super) fn jittered(&self, failed: u32) -> Duration {
        let bounds = Backoff::doubling(self.first_pause, self.longest_pause);
        bounds.after(failed).mul_f64(random_part())
    }
}

/// A random number from 0 to 1, for jitter.
pub(super) fn random_part() -> f64 {
    #[cfg(test)]
    if let Some(drawn) = super::scripted::draw() {
        return (drawn % 1000) as f64 / 1000.0;
    }
    rand::rng().random_range(0.0..=1.0)
}

/// The longest pause that is accepted from a service, a proxy or storage.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);

/// Parses `Retry-After`: seconds, or a date, which is compared with the service's own clock if `Date` is
/// present. At most [`MAX_RETRY_AFTER`]: a server that asks for a week may be wrong, and
/// may work again much sooner.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        let seconds = seconds.clamp(0.0, MAX_RETRY_AFTER.as_secs_f64());
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = http_date(value)?;
    let service_now = headers
        .get(DATE)
        .and_then(|date| http_date(date.to_str().ok()?));
    let now = service_now.unwrap_or_else(Timestamp::now);
    let wait = SystemTime::from(then).duration_since(SystemTime::from(now));
    // A date in the past means no wait.
    Some(wait.unwrap_or_default().min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unavailable() -> ClientError {
        ClientError::Unavailable {
            status: Some(502),
            reason: String::new(),
            retry_after: None,
        }
    }

    #[test]
    fn pauses_double_up_to_their_bound_and_are_fully_jittered() {
        let policy = RetryPolicy::default();
        for (failed, bound_ms) in [(1, 250), (2, 500), (3, 1000), (6, 8000), (40, 8000)] {
            let pauses: Vec<_> = (0..2000).map(|_| policy.jittered(failed)).collect();
            let bound = Duration::from_millis(bound_ms);
            assert!(pauses.iter().all(|pause| *pause <= bound));
            assert!(
                pauses.iter().any(|pause| *pause < bound / 10),
                "no short pause"
            );
            assert!(
                pauses.iter().any(|pause| *pause > bound * 9 / 10),
                "no long pause"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_reported_before_the_pause_that_follows_it() {
        let reported = Arc::new(std::sync::Mutex::new(Vec::new()));
        let report = {
            let reported = reported.clone();
            move |error: &ClientError| reported.lock().unwrap().push(error.to_string())
        };
        let policy = RetryPolicy::default();
        let patience = Some(Duration::from_secs(60));
        let asked = ClientError::Unavailable {
            status: Some(503),
            reason: "maintenance".to_owned(),
            retry_after: Some(Duration::from_secs(30)),
        };
        let seen = reported.clone();
        let calls = policy.repeat("ask", patience, |failed| {
            let (seen, asked) = (seen.clone(), asked.clone());
            async move {
                assert_eq!(seen.lock().unwrap().len(), failed as usize);
                if failed == 1 { Ok(()) } else { Err(asked) }
            }
        });
        reporting_failures(report, calls).await.unwrap();
        assert!(reported.lock().unwrap()[0].contains("maintenance"));
    }

    #[test]
    fn retries_end_with_the_attempts_with_the_time_limit_and_for_permanent_errors() {
        let policy = RetryPolicy::default();
        let patience = Duration::from_secs(25);
        assert!(
            policy
                .pause(&unavailable(), 1, Duration::ZERO, patience)
                .is_some()
        );
        assert!(
            policy
                .pause(&unavailable(), 5, Duration::ZERO, patience)
                .is_none()
        );
        assert!(
            policy
                .pause(&unavailable(), 1, patience, patience)
                .is_none_or(|pause| pause.is_zero())
        );
        let refused = ClientError::Rejected {
            status: 422,
            message: String::new(),
        };
        assert!(
            policy
                .pause(&refused, 1, Duration::ZERO, patience)
                .is_none()
        );
        let long = ClientError::RateLimited {
            retry_after: Some(Duration::from_secs(60)),
        };
        assert!(policy.pause(&long, 1, Duration::ZERO, patience).is_none());
        let lost = ClientError::LostReply {
            what: String::new(),
            status: None,
            reason: String::new(),
        };
        assert!(policy.pause(&lost, 1, Duration::ZERO, patience).is_none());
    }

    #[test]
    fn retry_after_is_honoured_as_seconds_and_as_a_date() {
        let headers = |pairs: &[(reqwest::header::HeaderName, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| (name.clone(), value.parse().unwrap()))
                .collect::<HeaderMap>()
        };
        assert_eq!(
            retry_after(&headers(&[(RETRY_AFTER, "7")])),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            retry_after(&headers(&[(RETRY_AFTER, "-7")])),
            Some(Duration::ZERO)
        );
        let dated = headers(&[
            (RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (DATE, "Sun, 06 Nov 1994 08:49:07 GMT"),
        ]);
        assert_eq!(retry_after(&dated), Some(Duration::from_secs(30)));
        assert_eq!(
            retry_after(&headers(&[(RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT")])),
            Some(Duration::ZERO)
        );
        for text in ["soon", "", "NaN"] {
            let wait = retry_after(&headers(&[(RETRY_AFTER, text)]));
            assert!(wait.is_none_or(|wait| wait.is_zero()), "{text}: {wait:?}");
        }
        for text in [
            "604800",
            "1e19",
            "1e400",
            "inf",
            "99999999999999999999999",
            "Fri, 31 Dec 2100 23:59:59 GMT",
        ] {
            let wait = retry_after(&headers(&[(RETRY_AFTER, text)]));
            assert_eq!(wait, Some(MAX_RETRY_AFTER), "{text}");
        }
        let pause = RetryPolicy::default()
            .pause(
                &ClientError::RateLimited {
                    retry_after: Some(Duration::from_secs(7)),
                },
                1,
                Duration::ZERO,
                Duration::from_secs(25),
            )
            .unwrap();
        assert!(pause >= Duration::from_secs(7));
    }
}

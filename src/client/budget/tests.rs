//! The rate limiter in virtual time.

use super::*;
use std::sync::Arc;

async fn seconds_for(budget: &RateBudget, count: u32, priority: Priority) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        budget.take(priority).await.unwrap();
    }
    start.elapsed().as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn no_minute_has_more_requests_than_the_burst_and_the_rate() {
    let budget = RateBudget::new(1800, 150);
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < Duration::from_secs(60) {
        budget.take(Priority::Interactive).await.unwrap();
        sent += 1;
    }
    assert!((1940..=1952).contains(&sent), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn background_requests_leave_the_reserve_to_interactive_ones() {
    let budget = RateBudget::new(600, 30);
    assert!(seconds_for(&budget, 20, Priority::Background).await < 0.01);
    // Below the reserve background requests wait for the bucket to fill …
    let waited = seconds_for(&budget, 5, Priority::Background).await;
    assert!((0.4..0.7).contains(&waited), "{waited}");
    // … and interactive requests do not.
    assert!(seconds_for(&budget, 9, Priority::Interactive).await < 0.01);
}

#[tokio::test(start_paused = true)]
async fn interactive_requests_overtake_waiting_background_requests() {
    let budget = Arc::new(RateBudget::new(60, 3));
    for _ in 0..3 {
        budget.take(Priority::Interactive).await.unwrap();
    }
    let background = tokio::spawn({
        let budget = budget.clone();
        async move {
            budget.take(Priority::Background).await.unwrap();
            Instant::now()
        }
    });
    tokio::task::yield_now().await;
    let waited = seconds_for(&budget, 5, Priority::Interactive).await;
    assert!((4.9..5.1).contains(&waited), "{waited}");
    let interactive_done = Instant::now();
    assert!(background.await.unwrap() > interactive_done);
}

#[tokio::test(start_paused = true)]
async fn after_a_429_nothing_is_sent_before_the_retry_after() {
    let budget = RateBudget::new(1800, 150);
    budget.pause(Some(Duration::from_secs(7)));
    assert_eq!(budget.status().available, 0);
    let waited = seconds_for(&budget, 1, Priority::Interactive).await;
    assert!((7.0..8.2).contains(&waited), "{waited}");
    let budget = RateBudget::new(1800, 150);
    budget.pause(Some(Duration::from_secs(7)));
    // The reserve comes first, at half the rate.
    let waited = seconds_for(&budget, 1, Priority::Background).await;
    assert!((7.0..12.5).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_delays_requests_that_already_wait() {
    let budget = Arc::new(RateBudget::new(60, 1));
    budget.take(Priority::Interactive).await.unwrap();
    let waiter = tokio::spawn({
        let budget = budget.clone();
        async move { seconds_for(&budget, 1, Priority::Interactive).await }
    });
    tokio::task::yield_now().await;
    budget.pause(Some(Duration::from_secs(10)));
    let waited = waiter.await.unwrap();
    assert!((10.0..13.2).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_returns_its_token() {
    let budget = RateBudget::new(60, 1);
    budget.take(Priority::Interactive).await.unwrap();
    for _ in 0..5 {
        let wait =
            tokio::time::timeout(Duration::from_millis(1), budget.take(Priority::Interactive));
        assert!(wait.await.is_err());
    }
    let waited = seconds_for(&budget, 1, Priority::Interactive).await;
    assert!(waited < 1.1, "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_request_fails_at_once_if_it_would_wait_too_long() {
    let budget = RateBudget::new(60, 1);
    budget.pause(Some(Duration::from_secs(100)));
    let error = budget.take(Priority::Interactive).await.unwrap_err();
    assert!(
        matches!(error, ClientError::RateLimited { retry_after: Some(wait) } if wait.as_secs() >= 99)
    );
}

/// A service that counts the requests of an account in windows of a minute.
struct CountingService {
    limit: u32,
    began: Instant,
    used: u32,
    refused: u32,
}

impl CountingService {
    /// What the headers say, and the `Retry-After` of a refusal.
    fn ask(&mut self) -> (RateHeaders, Option<Duration>) {
        let minute = Duration::from_secs(60);
        if self.began.elapsed() >= minute {
            (self.began, self.used) = (Instant::now(), 0);
        }
        let refused = (self.used >= self.limit).then(|| minute - self.began.elapsed());
        match refused {
            Some(_) => self.refused += 1,
            None => self.used += 1,
        }
        let headers = RateHeaders {
            limit: self.limit,
            remaining: self.limit - self.used,
        };
        (headers, refused)
    }
}

/// Clients of one account, each with three programs that send as much as they may. They run for
/// five minutes. Returns how many requests each client sent in the last two minutes, how many requests were refused, and
/// how many failed.
async fn share(clients: usize, limit: u32) -> (Vec<u32>, u32, u32) {
    let service = Arc::new(Mutex::new(CountingService {
        limit,
        began: Instant::now(),
        used: 0,
        refused: 0,
    }));
    let begun = Instant::now();
    let is_late = move || begun.elapsed() >= Duration::from_secs(180);
    let done = move || begun.elapsed() >= Duration::from_secs(300);
    let mut tasks = Vec::new();
    for client in 0..clients {
        let budget = Arc::new(RateBudget::new(1400, 500));
        for _ in 0..3 {
            let (budget, service) = (budget.clone(), service.clone());
            tasks.push(tokio::spawn(async move {
                let (mut sent, mut refused, mut failed) = (0, 0, 0);
                while !done() {
                    if budget.take(Priority::Interactive).await.is_err() {
                        failed += 1;
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        continue;
                    }
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    let (headers, retry_after) = service.lock().unwrap().ask();
                    budget.observe(headers);
                    if let Some(retry_after) = retry_after {
                        budget.pause(Some(retry_after));
                        refused += 1;
                    } else {
                        sent += u32::from(is_late());
                    }
                }
                (client, sent, refused, failed)
            }));
        }
    }
    let (mut sums, mut refused, mut failed) = (vec![0; clients], 0, 0);
    for task in tasks {
        let (client, sent, no, lost) = task.await.unwrap();
        sums[client] += sent;
        refused += no;
        failed += lost;
    }
    (sums, refused, failed)
}

#[tokio::test(start_paused = true)]
async fn clients_of_one_account_share_its_limit_evenly_and_without_refusals() {
    for (clients, limit) in [(1, 600), (2, 600), (4, 300), (8, 600), (16, 2000)] {
        let (sent, refused, failed) = share(clients, limit).await;
        let what = format!("{clients} clients, {limit} a minute: {sent:?}, {refused} refused");
        assert_eq!((refused, failed), (0, 0), "{what}");
        let sum: u32 = sent.iter().sum();
        assert!(sum > limit * 2 * 8 / 10 && sum <= limit * 9 / 4, "{what}");
        let (least, most) = (sent.iter().min(), sent.iter().max());
        assert!(least.unwrap() * 2 > *most.unwrap(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_headers_a_refusal_halves_the_rate_which_rises_again() {
    let budget = RateBudget::new(1200, 10);
    budget.pause(Some(Duration::ZERO));
    assert_eq!(budget.status().per_minute, 600);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(budget.status().per_minute, 1200);
}

fn shown(limit: u32, remaining: u32) -> RateHeaders {
    RateHeaders { limit, remaining }
}

#[tokio::test(start_paused = true)]
async fn interactive_requests_use_the_reserve_when_the_account_is_used_up() {
    let budget = RateBudget::new(2000, 100);
    budget.observe(shown(1000, 1000));
    // Others have used all but the reserve.
    budget.observe(shown(1000, 60));
    while budget.status().available > 0 {
        budget.take(Priority::Interactive).await.unwrap();
    }
    assert!(seconds_for(&budget, 10, Priority::Interactive).await < 0.01);
    // Background requests do not get it.
    let background = budget.take(Priority::Background);
    let waited = tokio::time::timeout(Duration::from_secs(5), background).await;
    assert!(waited.is_err());
    // It has an end: the rest covers replies on their way.
    let sent = budget.status().taken;
    while tokio::time::timeout(Duration::from_millis(1), budget.take(Priority::Interactive))
        .await
        .is_ok_and(|taken| taken.is_ok())
    {}
    let sent = budget.status().taken - sent;
    assert!(sent <= 30, "{sent}");
}

#[tokio::test(start_paused = true)]
async fn background_requests_leave_the_last_token_to_interactive_ones() {
    let budget = RateBudget::new(2000, 100);
    // So little is left that the bucket holds two tokens.
    budget.observe(shown(100, 14));
    while tokio::time::timeout(Duration::from_millis(1), budget.take(Priority::Background))
        .await
        .is_ok()
    {}
    assert!(budget.status().available >= 1);
    assert!(seconds_for(&budget, 1, Priority::Interactive).await < 0.01);
}

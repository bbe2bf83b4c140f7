//! The rate limit: counted for a user over all tokens, and for an address without a valid token.

use assetfs::service::TrustedProxies;
use serde_json::json;

use super::shared_records::Pair;
use super::support::{Answer, Fixture};

const POINTS: &str = "/api/v2/user/rapidpoints";

async fn with_token(service: &Fixture, token: &str) -> Answer {
    let request = service.http.get(service.url(POINTS));
    let request = request.header("authorization", format!("Bearer {token}"));
    service.send(request).await
}

#[tokio::test]
async fn two_tokens_of_one_user_share_one_rate() {
    let service = Fixture::with("", |config| config.requests_per_minute = 6).await;
    let first = service.service.token().to_owned();
    let made = service
        .post("/api/v2/user/tokens/create", json!({ "name": "second" }))
        .await
        .expect(200);
    let second = made.text();
    for (token, remaining) in [&first, &second, &first, &second, &second]
        .into_iter()
        .zip((0..5).rev())
    {
        let answer = with_token(&service, token).await.expect(200);
        assert_eq!(answer.header("x-ratelimit-limit"), "6");
        assert_eq!(
            answer.header("x-ratelimit-remaining"),
            remaining.to_string()
        );
    }
    for token in [&first, &second] {
        let refused = with_token(&service, token).await.expect(429);
        assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
        assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    }
}

#[tokio::test]
async fn strangers_share_the_rate_of_their_address_and_take_nothing_from_users() {
    let service = Fixture::with("", |config| config.requests_per_minute = 5).await;
    let good = service.service.token().to_owned();
    let nobody = || service.send(service.http.get(service.url(POINTS)));
    nobody().await.expect(401);
    with_token(&service, "1|wrong").await.expect(401);
    with_token(&service, "no token").await.expect(401);
    let login = || {
        let request = service.http.post(service.url("/api/v2/login"));
        service.send(request.body(r#"{"email":"a@b.c","password":"x"}"#))
    };
    login().await.expect(422);
    login().await.expect(422);
    login().await.expect(429);
    nobody().await.expect(429);
    with_token(&service, "1|wrong").await.expect(429);
    // The user at the same address is not affected, and uploads are not counted.
    with_token(&service, &good).await.expect(200);
    let upload = service
        .http
        .get(service.url("/api/v2/rawmodel/1/api-upload/complete"));
    service.send(upload).await.expect(401);
}

/// The status of a request with a wrong token whose proxy names these clients.
async fn wrong_token_of(service: &Fixture, forwarded_for: &str) -> u16 {
    let request = service.http.get(service.url(POINTS));
    let request = request
        .header("authorization", "Bearer 1|wrong")
        .header("x-forwarded-for", forwarded_for);
    service.send(request).await.status.as_u16()
}

async fn behind_proxy(proxy: &str) -> Fixture {
    let proxy = proxy.parse().unwrap();
    Fixture::with("", |config| {
        config.requests_per_minute = 2;
        config.trusted_proxies = TrustedProxies(vec![proxy]);
    })
    .await
}

#[tokio::test]
async fn each_client_of_a_trusted_proxy_has_a_rate_of_its_own() {
    let service = behind_proxy("127.0.0.0/8").await;
    for client in ["203.0.113.1", "203.0.113.2"] {
        assert_eq!(wrong_token_of(&service, client).await, 401, "{client}");
        assert_eq!(wrong_token_of(&service, client).await, 401, "{client}");
        assert_eq!(wrong_token_of(&service, client).await, 429, "{client}");
        // What the client itself has sent stands before what the proxy adds.
        let forged = format!("198.51.100.7, {client}");
        assert_eq!(wrong_token_of(&service, &forged).await, 429, "{client}");
    }
}

#[tokio::test]
async fn the_header_of_a_peer_that_is_no_trusted_proxy_is_ignored() {
    let service = behind_proxy("10.0.0.0/8").await;
    assert_eq!(wrong_token_of(&service, "203.0.113.1").await, 401);
    assert_eq!(wrong_token_of(&service, "203.0.113.2").await, 401);
    assert_eq!(wrong_token_of(&service, "203.0.113.3").await, 429);
}

#[tokio::test]
async fn unknown_paths_and_methods_of_the_api_count_as_well() {
    let service = Fixture::with("", |config| config.requests_per_minute = 4).await;
    let send = async |method: &str, path: &str, token: &str| {
        let method = method.parse().unwrap();
        let request = service.http.request(method, service.url(path));
        service
            .send(request.header("authorization", format!("Bearer {token}")))
            .await
    };
    let own = service.service.token().to_owned();
    let none = "/api/v2/nothing";
    for (token, expected) in [(&*own, (404, 405)), ("1|wrong", (404, 405))] {
        for (method, path, status, remaining) in [
            ("GET", none, expected.0, "3"),
            ("PUT", POINTS, expected.1, "2"),
            ("GET", "/api/nothing", expected.0, "1"),
            ("POST", "/rawmodel/1", expected.1, "0"),
        ] {
            let answer = send(method, path, token).await.expect(status);
            assert_eq!(answer.header("x-ratelimit-remaining"), remaining, "{path}");
            assert_eq!(
                answer.headers.contains_key("allow"),
                status == 405,
                "{path}"
            );
        }
        send("GET", none, token).await.expect(429);
        send("PUT", POINTS, token).await.expect(429);
        // Not the API, and the calls of an upload.
        for path in [
            "/favicon.ico",
            "/embed/nothing",
            "/api/v2/rawmodel/1/api-upload/nothing",
        ] {
            let answer = send("GET", path, token).await.expect(404);
            assert!(!answer.headers.contains_key("x-ratelimit-limit"), "{path}");
        }
    }
}

/// The services share the limit: what one has counted, the other knows.
#[tokio::test]
async fn two_services_count_the_requests_of_a_user_together() {
    let pair = Pair::start(|config| config.requests_per_minute = 8).await;
    let Some(pair) = pair else { return };
    let token = pair.first.service.token();
    let mut remaining = Vec::new();
    for service in pair.in_turn().take(8) {
        let answer = with_token(service, token).await.expect(200);
        remaining.push(answer.header("x-ratelimit-remaining").to_owned());
    }
    assert_eq!(remaining, ["7", "6", "5", "4", "3", "2", "1", "0"]);
    for service in pair.in_turn().take(4) {
        let refused = with_token(service, token).await.expect(429);
        assert!(refused.header("retry-after").parse::<u64>().unwrap() <= 60);
        assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    }
    // Addresses are counted together, too, and apart from the users.
    let mut answers = Vec::new();
    for service in pair.in_turn().take(10) {
        let answer = with_token(service, "1|wrong").await;
        answers.push(answer.status.as_u16());
    }
    assert_eq!(answers[..8], [401; 8]);
    assert_eq!(answers[8..], [429; 2]);
}

/// Services take several requests at once from the records. Together they never allow more than the limit.
#[tokio::test]
async fn services_with_larger_allotments_allow_no_more_than_the_limit() {
    let pair = Pair::start(|config| config.requests_per_minute = 300).await;
    let Some(pair) = pair else { return };
    let token = pair.first.service.token();
    let mut allowed = 0;
    for _ in 0..20 {
        let calls = pair.in_turn().map(|service| with_token(service, token));
        let answers = futures_util::future::join_all(calls).await;
        allowed += answers.iter().filter(|it| it.status == 200).count();
    }
    // Each service may hold the rest of an allotment of 3.
    assert!((296..=300).contains(&allowed), "{allowed}");
}

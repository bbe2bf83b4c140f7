//! Tokens and login.

use reqwest::Method;
use serde_json::json;

use super::support::{Fixture, blobs, upload_url};
use crate::needs_own_storage;

const TOKENS: &str = "/api/v2/user/tokens";

#[tokio::test]
async fn a_bad_token_is_answered_as_the_spec_says() {
    let service = Fixture::start().await;
    let good = service.service.token();
    let (id, secret) = good.split_once('|').unwrap();
    let changed = format!("Bearer {id}|{}x", &secret[..secret.len() - 1]);
    let unknown = format!("Bearer 99|{secret}");
    let no_scheme = good.to_owned();
    let huge = format!("Bearer 99999999999999999999999|{secret}");
    let headers = [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer x"),
        Some("Bearer |"),
        Some("Basic eDp5"),
        Some(changed.as_str()),
        Some(unknown.as_str()),
        Some(no_scheme.as_str()),
        Some(huge.as_str()),
    ];
    for header in headers {
        let mut request = service.http.get(service.url("/api/v2/user/rapidpoints"));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let answer = service.send(request).await.expect(401);
        assert_eq!(
            answer.json(),
            json!({ "message": "Invalid token", "error": "Token format is invalid" }),
            "{header:?}"
        );
    }
}

#[tokio::test]
async fn no_token_can_be_given_a_name_by_which_it_would_expire() {
    let service = Fixture::start().await;
    for name in ["sign-in (e-mail and password)", "page (sign-in link)"] {
        let body = json!({ "name": name });
        let refused = service.post("/api/v2/user/tokens/create", body).await;
        let message = refused.expect(400).json()["message"].to_string();
        assert!(message.contains("tokens of sign-ins"), "{message}");
    }
    let list = service.get_json(TOKENS).await;
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let body = json!({ "name": "sign-in" });
    let made = service.post("/api/v2/user/tokens/create", body).await;
    made.expect(200);
}

#[tokio::test]
async fn a_token_is_shown_once_listed_and_ended() {
    let service = Fixture::start().await;
    let made = service
        .post("/api/v2/user/tokens/create", json!({ "name": "ci" }))
        .await
        .expect(200)
        .text();
    let (id, secret) = made.split_once('|').unwrap();
    assert!(secret.len() >= 40);

    let list = service.get_json(TOKENS).await;
    let item = &list[1];
    assert_eq!(item["id"].to_string(), id);
    assert_eq!(item["name"], "ci");
    assert_eq!(item["last_used_at"], json!(null));
    assert_eq!(item["optimization_count"], 0);
    assert!(list[0]["last_used_at"].is_string());

    let single = service.get_json(&format!("{TOKENS}/{id}")).await;
    assert_eq!(single["abilities"], json!(["*"]));
    assert_eq!(single["plain_text"], "");
    assert!(single["tokenable_id"].is_u64());

    let with_new = || {
        let request = service.http.get(service.url(TOKENS));
        request.header("authorization", format!("Bearer {made}"))
    };
    service.send(with_new()).await.expect(200);
    service.delete(&format!("{TOKENS}/{id}")).await.expect(200);
    service.send(with_new()).await.expect(401);
    service.get(&format!("{TOKENS}/{id}")).await.expect(404);
    service.delete(&format!("{TOKENS}/{id}")).await.expect(404);
    service.get(&format!("{TOKENS}/x")).await.expect(404);
    service
        .post("/api/v2/user/tokens/create", json!({}))
        .await
        .expect(422);
}

#[tokio::test]
async fn no_secret_is_stored_in_plain_text() {
    let service = Fixture::start().await;
    let secret = service
        .service
        .token()
        .split_once('|')
        .unwrap()
        .1
        .to_owned();
    let data = service.dir.path().join("data");
    service.service.shutdown().await;
    let account = std::fs::read_to_string(data.join("account.json")).unwrap();
    assert!(
        account.contains(&secret),
        "the owner can read the first token"
    );
    for file in ["records.sqlite", "records.sqlite-wal"] {
        let bytes = std::fs::read(data.join(file)).unwrap_or_default();
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "{file}");
    }
}

#[tokio::test]
async fn the_first_account_is_private_and_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let Fixture { dir, service, .. } = Fixture::start().await;
    let token = service.token().to_owned();
    let data = dir.path().join("data");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&data) & 0o777, 0o700);
    assert_eq!(mode(&data.join("account.json")) & 0o777, 0o600);
    service.shutdown().await;
    let worker = super::support::script(dir.path(), "");
    let again = super::support::config(&data, worker).await;
    let again = assetfs::service::Service::start(again).await.unwrap();
    assert_eq!(again.token(), token);
}

#[tokio::test]
async fn logging_in_gives_a_token() {
    let service = Fixture::start().await;
    let path = service.dir.path().join("data/account.json");
    let account: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let login = |email: &str, password: &str| {
        let body = json!({ "email": email, "password": password }).to_string();
        service.http.post(service.url("/api/v2/login")).body(body)
    };
    let email = account["email"].as_str().unwrap();
    let password = account["password"].as_str().unwrap();
    let answer = service
        .send(login(email, password))
        .await
        .expect(200)
        .json();
    let token = answer["token"].as_str().unwrap();
    let request = service.http.get(service.url(TOKENS));
    let request = request.header("authorization", format!("Bearer {token}"));
    service.send(request).await.expect(200);
    for (email, password) in [(email, "wrong"), ("nobody@example.org", password), ("", "")] {
        let answer = service
            .send(login(email, password))
            .await
            .expect(422)
            .json();
        assert!(answer["errors"]["email"].is_array(), "{answer}");
    }
    let no_body = service.http.post(service.url("/api/v2/login"));
    service.send(no_body).await.expect(422);
}

#[tokio::test]
async fn an_account_ends_with_all_it_has() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("chair.glb", b"x")]).await;
    let downloads = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    let url = downloads["chair.glb"].as_str().unwrap().to_owned();
    let path = service.dir.path().join("data/account.json");
    let account: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let end = "/api/v2/user/delete";
    service
        .post(end, json!({ "password": "wrong" }))
        .await
        .expect(422);
    service
        .get(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(200);
    service
        .post(end, json!({ "password": account["password"] }))
        .await
        .expect(200);
    service.get(TOKENS).await.expect(401);
    assert_eq!(service.read(&url).await.status, 404);
    assert_eq!(blobs(&service.dir.path().join("data")).len(), 0);
}

#[tokio::test]
async fn requests_over_the_rate_limit_get_429_with_a_wait() {
    let service = Fixture::with("", |config| config.requests_per_minute = 5).await;
    for _ in 0..5 {
        service.get(TOKENS).await.expect(200);
    }
    let refused = service.get(TOKENS).await.expect(429);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert!(refused.json()["message"].is_string());
    // Uploads are left out.
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    let complete = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    service
        .request(Method::GET, &complete)
        .send()
        .await
        .unwrap();
    service.get(&complete).await.expect(200);
}

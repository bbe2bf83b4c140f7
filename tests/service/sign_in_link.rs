//! Links that sign in to the page once: what a code is exchanged for, and who is refused.

use assetfs::service::TrustedProxies;
use serde_json::{Value, json};

use super::support::{Answer, Fixture};

const SESSION: &str = "/page/session";
const CODE: &str = "/page/code";

/// The code of a link.
fn code_of(link: &str) -> String {
    let (_, code) = link.split_once("/#sign-in=").expect(link);
    code.to_owned()
}

async fn link(service: &Fixture) -> String {
    let link = service.service.sign_in_link().await.unwrap();
    link.expect("the service listens on this machine alone")
}

async fn exchange(service: &Fixture, code: &str, headers: &[(&str, &str)]) -> Answer {
    let body = json!({ "code": code }).to_string();
    let mut request = service.http.post(service.url(SESSION)).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    service.send(request).await
}

fn reason(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_is_exchanged_once_for_a_token_of_its_own() {
    let service = Fixture::start().await;
    let link = link(&service).await;
    let token = service.service.token();
    assert!(
        link.starts_with(service.service.base_url().as_str()),
        "{link}"
    );
    assert!(!link.contains(token.split_once('|').unwrap().1), "{link}");
    let code = code_of(&link);
    let session: Value = exchange(&service, &code, &[]).await.expect(200).json();
    let new = session["token"].as_str().unwrap();
    assert_ne!(new, token);
    let request = service.http.get(service.url("/api/v2/user/rapidpoints"));
    let request = request.header("authorization", format!("Bearer {new}"));
    service.send(request).await.expect(200);
    let again = exchange(&service, &code, &[]).await.expect(422);
    let why = reason(&again);
    assert!(
        why.contains("used already") && why.contains("assetfs page"),
        "{why}"
    );
}

#[tokio::test]
async fn only_the_last_sixteen_tokens_of_links_are_kept() {
    let service = Fixture::start().await;
    for _ in 0..18 {
        let code = code_of(&link(&service).await);
        exchange(&service, &code, &[]).await.expect(200);
    }
    let tokens = service.get_json("/api/v2/user/tokens").await;
    let names: Vec<&str> = tokens
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    let of_links = names
        .iter()
        .filter(|name| name.contains("sign-in link"))
        .count();
    assert_eq!(of_links, 16, "{names:?}");
    assert!(names.len() > of_links, "{names:?}");
}

#[tokio::test]
async fn a_wrong_code_and_one_of_an_earlier_run_are_refused_with_a_sentence() {
    let service = Fixture::start().await;
    let old = code_of(&link(&service).await);
    for code in ["", "0", "00000000000000000000000000000000", "1|secret", "é"] {
        let refused = exchange(&service, code, &[]).await.expect(422);
        assert!(!reason(&refused).is_empty(), "{code}");
    }
    let service = service.stop().await.start("").await;
    let refused = exchange(&service, &old, &[]).await.expect(422);
    assert!(reason(&refused).contains("expired"), "{}", reason(&refused));
}

#[tokio::test]
async fn only_the_page_on_this_machine_may_use_a_link() {
    let service = Fixture::with("", |config| {
        config.trusted_proxies = TrustedProxies(vec!["127.0.0.1".parse().unwrap()]);
    })
    .await;
    let code = code_of(&link(&service).await);
    let port = service.service.addr().port();
    let other = format!("http://127.0.0.1:{}", port.wrapping_add(1));
    for headers in [
        [("origin", "https://evil.example")],
        [("origin", "null")],
        [("origin", other.as_str())],
        [("host", "evil.example")],
        [("x-forwarded-for", "10.0.0.9")],
        [("x-forwarded-for", "127.0.0.1")],
        [("forwarded", "for=10.0.0.9")],
    ] {
        let refused = exchange(&service, &code, &headers).await.expect(403);
        assert!(
            reason(&refused).contains("on the machine of the service"),
            "{headers:?}"
        );
    }
    // None of these has used it.
    let own = format!("http://{}", service.service.addr());
    exchange(&service, &code, &[("origin", own.as_str())])
        .await
        .expect(200);
}

#[tokio::test]
async fn codes_are_made_with_a_token_only_and_count_in_the_rate_of_requests() {
    let service = Fixture::with("", |config| config.requests_per_minute = 4).await;
    let made = service.post_json(CODE, json!({})).await;
    assert_eq!(made["expires_in"], 600);
    exchange(&service, made["code"].as_str().unwrap(), &[])
        .await
        .expect(200);
    let nobody = service.http.post(service.url(CODE)).body("{}");
    service.send(nobody).await.expect(401);
    for _ in 0..2 {
        exchange(&service, "0", &[]).await.expect(422);
    }
    exchange(&service, "0", &[]).await.expect(429);
}

#[tokio::test]
async fn a_service_for_other_machines_makes_no_link() {
    let service = Fixture::with("", |config| {
        config.public_url = Some("https://assets.example.com/".parse().unwrap());
    })
    .await;
    assert_eq!(service.service.sign_in_link().await.unwrap(), None);
    let everywhere = Fixture::with("", |config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    assert_eq!(everywhere.service.sign_in_link().await.unwrap(), None);
}

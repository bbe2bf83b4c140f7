//! Single requests to the service, without the client of the drive.

use serde_json::Value;

/// Runs a future on this thread.
fn done<T>(calls: impl Future<Output = T>) -> T {
    // Fails if another test has installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(calls)
}

/// Sends a request with the bearer token; returns the body of a successful answer.
pub fn request(method: reqwest::Method, url: &str, token: &str) -> String {
    done(async {
        let reply = reqwest::Client::new()
            .request(method, url)
            .bearer_auth(token)
            .header("accept", "application/json")
            .send()
            .await
            .expect("the service answers");
        assert!(reply.status().is_success(), "{url}: {}", reply.status());
        reply.text().await.expect("a body")
    })
}

/// A GET with the bearer token.
pub(super) fn get_json(url: &str, token: &str) -> Value {
    let text = request(reqwest::Method::GET, url, token);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON from {url}: {text}"))
}

/// The status of a GET with the bearer token; 0 without an answer.
pub fn status_of(url: &str, token: &str) -> u16 {
    done(async {
        let request = reqwest::Client::new().get(url).bearer_auth(token);
        request
            .send()
            .await
            .map_or(0, |reply| reply.status().as_u16())
    })
}

/// The bytes behind a signed URL.
pub fn fetch(url: &str) -> Vec<u8> {
    done(async {
        let reply = reqwest::get(url).await.expect("the storage answers");
        assert!(reply.status().is_success(), "{}", reply.status());
        reply.bytes().await.expect("a body").to_vec()
    })
}

/// A PUT to a signed URL.
pub fn put_file(url: &str, body: Vec<u8>) {
    done(async {
        let put = reqwest::Client::new().put(url).body(body).send().await;
        let status = put.expect("the storage answers").status();
        assert!(status.is_success(), "{url}: {status}");
    });
}

/// A POST of JSON with the bearer token.
pub fn post_json(url: &str, token: &str, body: &Value) -> Value {
    done(async {
        let request = reqwest::Client::new().post(url).bearer_auth(token);
        let request = request
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(body.to_string());
        let reply = request.send().await.expect("the service answers");
        assert!(reply.status().is_success(), "{url}: {}", reply.status());
        let text = reply.text().await.expect("a body");
        serde_json::from_str(&text).expect("JSON")
    })
}

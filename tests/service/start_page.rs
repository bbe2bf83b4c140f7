//! The page at `/`: its files, its policy, and that files of users never run as pages.

use reqwest::Method;

use super::support::{Fixture, upload_url};
use crate::needs_own_storage;

#[tokio::test]
async fn the_page_and_all_its_files_come_from_the_service() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let page = service.read(&service.url("/")).await.expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let policy = page.header("content-security-policy");
    let origin = format!("http://{}", service.service.addr());
    for part in [
        "default-src 'none'",
        "script-src 'self';",
        "style-src 'self';",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        &format!("connect-src 'self' {origin};"),
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let html = page.text();
    let mut loaded = 0;
    for (_, rest) in html
        .match_indices("\"page/")
        .map(|(at, _)| html.split_at(at + 1))
    {
        let (path, _) = rest.split_once('"').unwrap();
        let url = service.url(&format!("/{path}"));
        let file = service.read(&url).await.expect(200);
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        let again = service
            .http
            .get(&url)
            .header("if-none-match", file.header("etag"));
        assert!(service.send(again).await.expect(304).body.is_empty());
        loaded += 1;
    }
    assert!(loaded > 5, "{html}");
    let url = |path: &str| service.url(path);
    service
        .read(&url("/page/scripts/../main.js"))
        .await
        .expect(404);
    service.read(&url("/page/nothing.js")).await.expect(404);
    let facts = service.read(&url("/page/facts.json")).await.expect(200);
    assert_eq!(facts.header("content-type"), "application/json");
    assert!(facts.json()["preset_keys"][1]["label"].is_string());
}

#[tokio::test]
async fn the_frame_that_reads_models_has_no_origin_and_no_network() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let frame = service.read(&service.url("/page/frame.html")).await;
    let frame = frame.expect(200);
    assert_eq!(frame.header("content-type"), "text/html; charset=utf-8");
    let policy = frame.header("content-security-policy");
    assert!(policy.ends_with("frame-ancestors 'self'; sandbox allow-scripts"));
    assert!(
        policy.contains("connect-src 'self' data: blob:;"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"));
    for path in [
        "/page/scripts/frame3d.js",
        "/embed/assets/model-viewer.min.js",
    ] {
        let file = service.read(&service.url(path)).await.expect(200);
        assert_eq!(file.header("access-control-allow-origin"), "*", "{path}");
    }
    let page = service.read(&service.url("/")).await.expect(200);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("frame-src 'self';"), "{policy}");
}

#[tokio::test]
async fn a_file_of_a_user_never_runs_as_a_page_of_the_service() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let script = b"<html xmlns='http://www.w3.org/1999/xhtml'><script>alert(1)</script></html>";
    let names = [
        "a.glb",
        "page.html",
        "picture.svg",
        "scene.x3d",
        "scene.dae",
    ];
    let (id, started) = service.begin("chair", &names).await;
    for name in names {
        let url = upload_url(&started, name);
        service.put(url, script).await.expect(200);
    }
    let files = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    for name in names {
        let file = service
            .read(files[name].as_str().unwrap())
            .await
            .expect(200);
        let policy = file.header("content-security-policy");
        assert!(policy.starts_with("sandbox; default-src 'none'"), "{name}");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        assert!(!file.header("content-type").contains("html"), "{name}");
    }
}

#[tokio::test]
async fn a_browser_on_another_origin_may_send_files_to_signed_addresses() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (_, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let preflight = service
        .http
        .request(Method::OPTIONS, url)
        .header("origin", "http://elsewhere.test")
        .header("access-control-request-method", "PUT");
    let allowed = service.send(preflight).await.expect(204);
    assert_eq!(allowed.header("access-control-allow-origin"), "*");
    assert!(
        allowed
            .header("access-control-allow-methods")
            .contains("PUT")
    );
    let sent = service.put(url, b"x").await.expect(200);
    assert_eq!(sent.header("access-control-allow-origin"), "*");
    // Without the question of a browser it is a method like any other.
    let plain = service.http.request(Method::OPTIONS, url);
    service.send(plain).await.expect(403);
}

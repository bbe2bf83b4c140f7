//! Embeds.

use serde_json::json;

use super::support::Fixture;

#[tokio::test]
async fn an_embed_lives_from_its_making_to_its_end() {
    let service = Fixture::start().await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let asked = service
        .post(&format!("/api/v2/rawmodel/optimize/{asset}"), json!({}))
        .await
        .json();
    let rapid = asked["id"].as_u64().unwrap();
    service.optimized(rapid).await;
    let config = r##"{"plainBackgroundColor":"#fff"}"##;
    let body =
        json!({ "model_id": rapid, "name": "Showroom", "config": config, "save_user_theme": true });
    let made = service
        .post("/api/v2/embeds/create", body)
        .await
        .expect(201)
        .json();
    assert_eq!(made["rapidmodel_id"], rapid);
    assert!(made["status"].is_string() && made["message"].is_string());
    let id = made["embed_id"].as_u64().unwrap();
    let raw = json!({ "raw_model_id": asset, "name": "Raw" });
    let raw = service
        .post("/api/v2/embeds/raw", raw)
        .await
        .expect(200)
        .json();
    assert!(raw["embed_url"].is_string());

    let detail = service
        .get(&format!("/api/v2/embeds/{id}"))
        .await
        .expect(200)
        .json();
    let detail = &detail["data"];
    assert_eq!(detail["name"], "Showroom");
    assert_eq!(detail["model_id"], rapid);
    assert_eq!(detail["view_count"], 0);
    let identifier = detail["identifier"].as_str().unwrap();
    assert_eq!(
        made["embed_url"],
        service.url(&format!("/embed/{identifier}"))
    );

    let list = service.get("/api/v2/embeds").await.expect(200).json();
    assert_eq!(list["meta"]["total"], 2);
    let item = &list["data"][1];
    assert_eq!(item["rapidModelId"], rapid);
    assert_eq!(item["rapidModelName"], "chair");
    assert_eq!(item["url"], made["embed_url"]);
    let thumbnail = item["thumbnail"].as_str().unwrap();
    assert_eq!(service.read(thumbnail).await.expect(200).body, b"thumb");
    let of_rapid = service
        .get(&format!("/api/v2/embeds?rapidId={rapid}"))
        .await
        .json();
    assert_eq!(of_rapid["meta"]["total"], 1);
    let named = service.get("/api/v2/embeds?q=raw").await.json();
    assert_eq!(named["data"][0]["name"], "Raw");
    service.get("/api/v2/embeds?rapidId=x").await.expect(422);

    service
        .delete(&format!("/api/v2/embeds/{id}"))
        .await
        .expect(204);
    service
        .delete(&format!("/api/v2/embeds/{id}"))
        .await
        .expect(404);
    service
        .get(&format!("/api/v2/embeds/{id}"))
        .await
        .expect(404);
    // An embed ends with what it shows.
    service
        .delete(&format!("/api/v2/rawmodel/{asset}"))
        .await
        .expect(200);
    let list = service.get("/api/v2/embeds").await.json();
    assert_eq!(list["meta"]["total"], 0);
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let service = Fixture::start().await;
    let obj = service.upload("chair", &[("a.obj", b"x")]).await;
    let (draft, _) = service.begin("draft", &["a.glb"]).await;
    for (body, status) in [
        (json!({ "raw_model_id": obj, "name": "x" }), 422),
        (json!({ "raw_model_id": draft, "name": "x" }), 422),
        (json!({ "raw_model_id": 999, "name": "x" }), 404),
        (json!({ "raw_model_id": obj }), 422),
        (json!({ "name": "x" }), 422),
    ] {
        let answer = service.post("/api/v2/embeds/raw", body.clone()).await;
        assert_eq!(answer.status, status, "{body}");
        assert!(answer.json()["message"].is_string());
    }
    for config in ["{", "[]", "{\"a\": {}}"] {
        let body = json!({ "model_id": 1, "name": "x", "config": config });
        service
            .post("/api/v2/embeds/create", body)
            .await
            .expect(422);
    }
    let body = json!({ "model_id": 999, "name": "x" });
    service
        .post("/api/v2/embeds/create", body)
        .await
        .expect(404);
}

#[tokio::test]
async fn a_hostile_viewer_text_stays_text_in_the_page() {
    let service = Fixture::start().await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let script = "</script></style></title><script>alert(1)</script>";
    let config = json!({
        "companyLogo": "data:image/png;base64,AA==",
        "companyLink": "javascript:alert(1)",
        "companyLogoCSS": format!("width:1px}}*{{background:url(//evil.test)}}</style>{script}"),
        "renderCanvasCSS": "background:url(//evil.test);@import 'evil.test'",
        "plainBackgroundColor": format!("#fff}}</style>{script}"),
        "environmentURL": "https://evil.test/sky.hdr",
        "baseUnit": format!("\">{script}"),
        script: script,
    });
    let body = json!({ "raw_model_id": asset, "name": script, "config": config.to_string() });
    let made = service.post("/api/v2/embeds/raw", body).await.expect(200);
    let url = made.json()["embed_url"].as_str().unwrap().to_owned();
    let page = service.read(&url).await.expect(200);
    let html = page.text();
    assert_eq!(html.matches("<script").count(), 3, "{html}");
    assert_eq!(html.matches("</style>").count(), 1, "{html}");
    for word in ["javascript:", "evil.test", "alert(1)</script>"] {
        assert!(!html.contains(word), "{word}: {html}");
    }
    assert!(
        html.contains("&lt;script&gt;alert(1)"),
        "the name is shown as it is"
    );
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"));
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
}

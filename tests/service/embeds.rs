//! Embeds.

use serde_json::{Value, json};
use zip::CompressionMethod;

use super::one_model::{Upload, with_engine};
use super::square_glb::changed_glb;
use super::support::Fixture;
use super::zips::zip_of;
use crate::needs_own_storage;

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
    let raw = service.post_json("/api/v2/embeds/raw", raw).await;
    assert!(raw["embed_url"].is_string());

    let detail = service.get_json(&format!("/api/v2/embeds/{id}")).await;
    let detail = &detail["data"];
    assert_eq!(detail["name"], "Showroom");
    assert_eq!(detail["model_id"], rapid);
    assert_eq!(detail["view_count"], 0);
    let identifier = detail["identifier"].as_str().unwrap();
    assert_eq!(
        made["embed_url"],
        service.url(&format!("/embed/{identifier}"))
    );
    let of_raw = service
        .get_json(&format!("/api/v2/embeds/{}", raw["embed_id"]))
        .await;
    assert_eq!(of_raw["data"]["raw_model_id"], asset);
    assert!(detail.get("raw_model_id").is_none());
    for record in [detail, &of_raw["data"]] {
        for number in ["id", "user_id", "model_id", "view_count"] {
            assert!(record[number].is_u64(), "{number}: {record}");
        }
        for text in ["identifier", "name", "created_at", "updated_at"] {
            assert!(record[text].is_string(), "{text}: {record}");
        }
    }

    let list = service.get_json("/api/v2/embeds").await;
    assert_eq!(list["meta"]["total"], 2);
    for item in list["data"].as_array().unwrap() {
        assert!(item["rapidModelId"].is_u64(), "{item}");
        for text in ["rapidModelName", "thumbnail", "url"] {
            assert!(item[text].is_string(), "{text}: {item}");
        }
    }
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
    // An embed is deleted with its model.
    service
        .delete(&format!("/api/v2/rawmodel/{asset}"))
        .await
        .expect(200);
    let list = service.get("/api/v2/embeds").await.json();
    assert_eq!(list["meta"]["total"], 0);
}

#[tokio::test]
async fn the_thumbnail_of_an_embed_whose_model_has_no_picture_is_null() {
    let service = Fixture::with("cat > /dev/null", |_| {}).await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let body = json!({ "raw_model_id": asset, "name": "x" });
    service.post("/api/v2/embeds/raw", body).await.expect(200);
    let list = service.get("/api/v2/embeds").await.json();
    let embed = list["data"][0].as_object().unwrap();
    assert_eq!(embed.get("thumbnail"), Some(&Value::Null));
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
    // All values are texts; the error names the key.
    for value in [json!(1), json!(true), json!(null), json!([]), json!({})] {
        let config = json!({ "fxaaOn": "true", "shadowBlur": value }).to_string();
        for (path, id) in [("create", "model_id"), ("raw", "raw_model_id")] {
            let body = json!({ id: obj, "name": "x", "config": config });
            let path = format!("/api/v2/embeds/{path}");
            let refused = service.post(&path, body).await.expect(422).json();
            let said = refused["errors"]["config"][0].as_str().unwrap();
            assert!(said.contains("shadowBlur"), "{said}");
        }
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

/// The bytes of the model that an embed's page names.
async fn shown(service: &Fixture, page: &str) -> Vec<u8> {
    let (_, rest) = page
        .split_once(r#"<model-viewer id="model" src=""#)
        .unwrap();
    let (path, _) = rest.split_once('"').unwrap();
    let url = service.url(&format!("/embed/{path}"));
    service.read(&url).await.expect(200).body
}

#[tokio::test]
async fn the_model_of_an_embed_is_kept_by_browsers_and_its_address_stays() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let asset = service.upload("chair", &[("a.glb", b"glTF....")]).await;
    let body = json!({ "raw_model_id": asset, "name": "Chair" });
    let made = service.post_json("/api/v2/embeds/raw", body).await;
    let url = made["embed_url"].as_str().unwrap();
    let first = service.read(url).await.expect(200).text();
    let second = service.read(url).await.expect(200).text();
    for page in [&first, &second] {
        assert!(
            page.contains(&format!(r#"content="{url}/poster.jpg""#)),
            "{page}"
        );
    }
    let file = format!("{url}/model.glb");
    let model = service.read(&file).await.expect(200);
    assert_eq!(model.body, b"glTF....");
    assert!(
        model
            .header("cache-control")
            .starts_with("public, max-age=")
    );
    let again = service
        .http
        .get(&file)
        .header("if-none-match", model.header("etag"));
    assert!(service.send(again).await.expect(304).body.is_empty());
    let part = service.http.get(&file).header("range", "bytes=0-3");
    assert_eq!(service.send(part).await.expect(206).body, b"glTF");
    assert_eq!(
        service
            .read(&format!("{url}/poster.jpg"))
            .await
            .expect(200)
            .body,
        b"thumb"
    );
    for missing in ["model.usdz", "a.glb", "error.log"] {
        service.read(&format!("{url}/{missing}")).await.expect(404);
    }
    // Only the page counts as a view.
    let record = service
        .get(&format!("/api/v2/embeds/{}", made["embed_id"]))
        .await
        .json();
    assert_eq!(record["data"]["view_count"], 2);
}

#[tokio::test]
async fn an_upload_that_is_not_one_glb_file_is_converted_for_its_embed() {
    let service = with_engine().await;
    let glb = changed_glb(|_| {});
    let zipped = zip_of(&[("in/a.glb", &glb)], CompressionMethod::Stored);
    let uploads: [(&str, Upload<'_>); 3] = [
        ("zipped", vec![("chair.zip", &zipped)]),
        ("beside", vec![("a.glb", &glb), ("notes.txt", b"x")]),
        ("alone", vec![("Chair.GLB", &glb)]),
    ];
    for (name, files) in uploads {
        let id = service.upload(name, &files).await;
        let body = json!({ "raw_model_id": id, "name": name });
        let made = service.post_json("/api/v2/embeds/raw", body.clone()).await;
        let url = made["embed_url"].as_str().unwrap();
        // Two parallel requests need one conversion.
        service.post("/api/v2/embeds/raw", body).await.expect(200);
        let processed = format!("/api/v2/rawmodel/{id}/processedFormats");
        let is_direct = name == "alone";
        let jobs = service.get(&processed).await.json();
        assert_eq!(
            jobs.as_array().unwrap().len(),
            usize::from(!is_direct),
            "{name}"
        );
        if !is_direct {
            service
                .until(&processed, |jobs| jobs[0]["status"] == "finished")
                .await;
        }
        let page = service.read(url).await.expect(200).text();
        let bytes = shown(&service, &page).await;
        assert!(bytes.starts_with(b"glTF"), "{name}");
        assert!(page.contains("<model-viewer"), "{name}");
    }
}

#[tokio::test]
async fn the_page_of_an_embed_waits_for_its_model_and_says_when_there_is_none() {
    let worker = r#"task=$(cat); case "$task" in *optimize*)
        while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.05; done
        echo '{"error":"no such thing"}'; exit 1;; esac"#;
    let service = Fixture::with(worker, |_| {}).await;
    let id = service
        .upload("chair", &[("a.glb", b"x"), ("b.txt", b"x")])
        .await;
    let body = json!({ "raw_model_id": id, "name": "<b>" });
    let made = service.post_json("/api/v2/embeds/raw", body).await;
    let url = made["embed_url"].as_str().unwrap();
    let page = service.read(url).await.expect(200).text();
    assert!(
        page.contains(r#"http-equiv="refresh""#) && page.contains("&lt;b&gt; is being prepared"),
        "{page}"
    );
    std::fs::write(service.dir.path().join("go"), b"").unwrap();
    let processed = format!("/api/v2/rawmodel/{id}/processedFormats");
    service
        .until(&processed, |jobs| jobs[0]["status"] == "failed")
        .await;
    let page = service.read(url).await.expect(404).text();
    assert!(page.contains("cannot be shown: no such thing"), "{page}");
}

#[tokio::test]
async fn a_rapid_model_without_a_glb_has_no_embed() {
    let service = with_engine().await;
    let id = service
        .upload("square", &[("a.glb", &changed_glb(|_| {}))])
        .await;
    for formats in [vec!["gltf"], vec!["usdz"], vec!["usdz", "glb"]] {
        let exports: Vec<Value> = formats
            .iter()
            .map(|format| json!({ "fileType": format }))
            .collect();
        let config = json!({ "compressionAndExport": { "fileExports": exports } });
        let asked = service
            .post_json(
                &format!("/api/v2/rawmodel/optimize/{id}"),
                json!({ "config": config }),
            )
            .await;
        let rapid = asked["id"].as_u64().unwrap();
        service.optimized(rapid).await;
        let made = service
            .post(
                "/api/v2/embeds/create",
                json!({ "model_id": rapid, "name": "x" }),
            )
            .await;
        if formats.contains(&"glb") {
            let url = made.expect(201).json()["embed_url"]
                .as_str()
                .unwrap()
                .to_owned();
            service.read(&url).await.expect(200);
        } else {
            let message = made.expect(422).json()["message"].clone();
            assert!(
                message.as_str().unwrap().contains("no glb export"),
                "{message}"
            );
        }
    }
    assert_eq!(
        service.get("/api/v2/embeds").await.json()["meta"]["total"],
        1
    );
}

#[tokio::test]
async fn keys_that_the_viewer_does_not_know_are_named_in_the_answer() {
    let service = Fixture::start().await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let message = async |config: Value| {
        let body = json!({ "raw_model_id": asset, "name": "x", "config": config.to_string() });
        let made = service.post_json("/api/v2/embeds/raw", body).await;
        made["message"].as_str().unwrap().to_owned()
    };
    let told = message(json!({ "cameraBlom": "1", "zzz": "1", "fxaaOn": "true" })).await;
    assert_eq!(
        told,
        "The embed is being created. These keys of the config are not known and have no effect: cameraBlom (did you mean \
         cameraBloom?), zzz."
    );
    let all = |value: &str| -> Value {
        let keys = assetfs::wire::ViewerConfig::keys();
        keys.map(|key| (key, value)).collect()
    };
    let told =
        message(json!({ "shadowOpacity": "3", "displayUnits": "m,parsec", "baseUnit": "ell" }))
            .await;
    assert_eq!(
        told,
        "The embed is being created. The values of these keys of the config cannot be used and have no effect: baseUnit. \
         Parts of the values of these keys of the config cannot be used and have no effect: displayUnits. The values of \
         these keys of the config are out of range, and the nearest limit is used: shadowOpacity (0 to 2)."
    );
    // An empty value asks for nothing.
    assert_eq!(message(all("")).await, "The embed is being created.");
    assert_eq!(
        message(all("1")).await,
        "The embed is being created. The values of these keys of the config cannot be used and have no effect: \
         environmentURL, companyLogo, productLogo, threeDLogo, companyLink, productLink, gradientBackgroundColor1, \
         gradientBackgroundColor2, plainBackgroundColor, companyLogoToggle, productLogoToggle, threeDLogoToggle, \
         skyBoxEnabled, shadowToggle, cameraPanning, enableSimpleMeasurement, enableCoordinateDisplay, enableARBtn, \
         enableAnimationControl, backgroundIsGradient, backgroundIsColor, renderCanvasCSS, interactiveToolsCSS, \
         companyLogoCSS, productLogoCSS, threeDLogoCSS, baseUnit, displayUnit, displayUnits."
    );
}

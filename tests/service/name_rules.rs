//! The rule of a preset for the names of result files.

use serde_json::{Value, json};

use super::support::Fixture;

/// Optimizing writes a file with the requested name.
const NAMING_WORKER: &str = r#"
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
base=$(printf %s "$task" | sed 's/.*"base_name":"\([^"]*\)".*/\1/')
case "$task" in
*'"task":"optimize"'*) mkdir -p "$out/exports"; echo x > "$out/exports/$base.glb" ;;
esac
"#;

async fn name_of_result(service: &Fixture, asset: u64, preset: &Value) -> (u64, String) {
    let path = format!("/api/v2/rawmodel/optimize/{asset}");
    let body = json!({ "preset_id": preset["id"] });
    let asked = service.post_json(&path, body).await;
    let id = asked["id"].as_u64().unwrap();
    let rapid = service.optimized(id).await;
    let all = rapid["downloads"]["all"].as_object().unwrap();
    assert_eq!(all.len(), 1, "{rapid}");
    (id, all.keys().next().unwrap().clone())
}

#[tokio::test]
async fn the_file_name_rule_of_a_preset_names_its_results() {
    let service = Fixture::with(NAMING_WORKER, |_| {}).await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let create = |meta: Value| {
        let body = json!({ "name": "web", "config": { "schema": "2.5" }, "meta": meta });
        service.post("/api/v2/preset/create", body)
    };
    let plain = create(Value::Null).await.expect(200).json();
    assert_eq!(name_of_result(&service, asset, &plain).await.1, "chair.glb");
    let meta = json!({ "filename": { "useId": true, "useSuffix": "low", "usePresetName": true } });
    let named = create(meta.clone()).await.expect(200).json();
    let (id, name) = name_of_result(&service, asset, &named).await;
    assert_eq!(name, format!("chair-low-web-{id}.glb"));
    // The list form has meta as JSON text, and it can be sent back.
    let list = service.get("/api/v2/preset").await.json();
    let text = list[1]["meta"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), meta);
    let again = create(json!(text)).await.expect(200).json();
    let (id, name) = name_of_result(&service, asset, &again).await;
    assert_eq!(name, format!("chair-low-web-{id}.glb"));
    // An update without a rule leaves it, one with a rule changes it.
    for (meta, expected) in [
        (Value::Null, "chair-low-WEB-"),
        (
            json!({ "filename": { "useSuffix": "small" } }),
            "chair-small.glb",
        ),
    ] {
        let body = json!({
            "id": named["id"], "name": "WEB", "config": { "schema": "2.5" }, "meta": meta,
        });
        let request = service.json(reqwest::Method::PATCH, "/api/v2/preset/update", body);
        request.await.expect(200);
        let (_, name) = name_of_result(&service, asset, &named).await;
        assert!(name.starts_with(expected), "{name}");
    }
    for wrong in [
        json!("no json"),
        json!({ "filename": 1 }),
        json!({ "filename": { "useId": "yes" } }),
        json!({ "filename": { "useSuffix": 7 } }),
    ] {
        let refused = create(wrong).await.expect(422);
        assert!(refused.json()["errors"]["meta"].is_array());
    }
}

//! Which results the page shows as stale and which models as replaced: as drives have noted them, and as a drive would tell.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::Fixture;

fn percent(percentage: f64) -> Value {
    json!({ "limits": { "faces": { "percentage": percentage } } })
}

/// A result with tags; its id as it is written in the answer.
async fn result(service: &Fixture, asset: u64, mut body: Value, note: &str) -> String {
    body["tags"] = json!([note]);
    let path = format!("/api/v2/rawmodel/optimize/{asset}");
    let id = service.post_json(&path, body).await["id"].clone();
    service.optimized(id.as_u64().unwrap()).await;
    id.to_string()
}

async fn answer(service: &Fixture) -> Value {
    service.get_json("/page/stale.json").await
}

async fn stale(service: &Fixture) -> Value {
    answer(service).await["stale"].clone()
}

#[tokio::test]
async fn a_result_is_stale_when_its_preset_has_changed_or_its_source_was_replaced() {
    let service = Fixture::start().await;
    let body = json!({ "name": "shop", "config": percent(50.0) });
    let made = service.post("/api/v2/preset/create", body).await;
    let preset = made.expect(200).json()["id"].as_u64().unwrap();
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let of_preset = json!({ "preset_id": preset });
    let by_name = "assetfs:config=00;preset=shop";
    let by_id = format!("assetfs:config=00;preset_id={preset}");
    let named = result(&service, asset, of_preset.clone(), by_name).await;
    let numbered = result(&service, asset, of_preset.clone(), &by_id).await;
    let unnoted = result(&service, asset, of_preset, "wood").await;
    let own = result(
        &service,
        asset,
        json!({ "config": percent(50.0) }),
        "assetfs:config=00",
    )
    .await;
    assert_eq!(stale(&service).await, json!({}));

    let change = async |config: Value| {
        let body = json!({ "id": preset, "name": "shop", "config": config });
        let update = service.json(Method::PATCH, "/api/v2/preset/update", body);
        update.await.expect(200);
    };
    // The form of numbers means nothing.
    change(json!({ "limits": { "faces": { "percentage": 50 } } })).await;
    assert_eq!(stale(&service).await, json!({}));
    change(percent(60.0)).await;
    let changed = json!({ &named: "preset_changed", &numbered: "preset_changed" });
    assert_eq!(stale(&service).await, changed);
    service
        .delete(&format!("/api/v2/preset/{preset}"))
        .await
        .expect(200);
    assert_eq!(stale(&service).await, json!({}), "it cannot be known");

    let newer = service.upload("chair", &[("a.glb", b"y")]).await;
    let note = json!({ "tags": [format!("assetfs:replaces={asset}")] });
    let path = format!("/api/v2/rawmodel/{newer}");
    service.json(Method::PUT, &path, note).await.expect(200);
    let replaced = [&named, &numbered, &unnoted, &own].map(|id| (id.clone(), "source_replaced"));
    let replaced: Value = replaced.into_iter().collect();
    assert_eq!(
        answer(&service).await,
        json!({ "stale": replaced, "replaced": [asset] })
    );

    // Another machine replaced the same version and had not seen the newer one.
    let newest = service.upload("chair", &[("a.glb", b"z")]).await;
    let note = json!({ "tags": [format!("assetfs:replaces={asset}")] });
    let path = format!("/api/v2/rawmodel/{newest}");
    service.json(Method::PUT, &path, note).await.expect(200);
    assert_eq!(
        answer(&service).await["replaced"],
        json!([asset, newer]),
        "as on every machine"
    );

    let anonymous = service.read(&service.url("/page/stale.json")).await;
    anonymous.expect(401);
}

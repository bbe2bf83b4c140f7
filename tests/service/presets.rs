//! Presets and the start of optimizations.

use reqwest::Method;
use serde_json::json;

use super::support::Fixture;

#[tokio::test]
async fn a_preset_lives_from_its_making_to_its_end() {
    let service = Fixture::start().await;
    let config =
        json!({ "schema": "2.5", "limits": { "faces": { "percentage": 5, "count": 100 } } });
    let body = json!({ "name": "Web", "description": "for Pages", "config": config });
    let made = service.post_json("/api/v2/preset/create", body).await;
    let id = made["id"].as_u64().unwrap();
    assert!(id > 1_000);
    assert_eq!(made["config"], config);
    let text = service
        .get(&format!("/api/v2/preset/{id}"))
        .await
        .expect(200)
        .text();
    assert!(
        text.contains(r#""percentage":5,"count":100"#),
        "the keys keep their order: {text}"
    );

    let list = service.get_json("/api/v2/preset?q=pages").await;
    assert_eq!(list.as_array().unwrap().len(), 1);
    let listed: serde_json::Value =
        serde_json::from_str(list[0]["config"].as_str().unwrap()).unwrap();
    assert_eq!(listed, config);
    let meta: serde_json::Value = serde_json::from_str(list[0]["meta"].as_str().unwrap()).unwrap();
    assert_eq!(meta["filename"]["useId"], false);
    assert_eq!(
        service.get("/api/v2/preset?q=other").await.json(),
        json!([])
    );

    let update = |body| service.json(Method::PATCH, "/api/v2/preset/update", body);
    let body = json!({ "id": id, "name": "Net", "config": "{\"schema\": \"2.5\"}" });
    let updated = update(body).await.expect(200).json();
    assert_eq!(updated["name"], "Net");
    assert_eq!(updated["config"], json!({ "schema": "2.5" }));
    assert_eq!(updated["description"], "for Pages");
    let body = json!({ "id": id, "name": "Net", "config": {}, "description": "new", "engineCoreVersion": "0.1.0" });
    let updated = update(body).await.expect(200).json();
    assert_eq!(updated["description"], "new");
    assert_eq!(updated["engine_core_version"], "0.1.0");
    let found = service.get("/api/v2/preset?q=new").await.json();
    assert_eq!(found[0]["id"], id, "the search knows the new description");
    // The record as the service wrote it is accepted again.
    let mut record = updated.clone();
    record["description"] = json!("");
    assert_eq!(update(record).await.expect(200).json()["description"], "");
    for (field, value) in [
        ("description", json!("x".repeat(4_097))),
        ("engineCoreVersion", json!("99.0")),
        ("descriptoin", json!("")),
    ] {
        let mut body = json!({ "id": id, "name": "Net", "config": {} });
        body[field] = value;
        let refused = update(body).await.expect(422).json();
        assert!(refused["errors"][field].is_array(), "{refused}");
    }
    update(json!({ "id": 4_000_000, "name": "x", "config": {} }))
        .await
        .expect(404);
    update(json!({ "id": 1, "name": "x", "config": {} }))
        .await
        .expect(403);
    update(json!({ "id": id, "name": "x" })).await.expect(422);
    let faces = json!({ "limits": { "faces": { "count": "many" } } });
    for config in [json!([]), json!("[1]"), json!("{"), json!(5), faces] {
        let body = json!({ "name": "x", "config": config });
        let answer = service
            .post("/api/v2/preset/create", body)
            .await
            .expect(422);
        assert!(answer.json()["errors"]["config"].is_array());
    }
    service.delete("/api/v2/preset/1").await.expect(403);
    service
        .delete(&format!("/api/v2/preset/{id}"))
        .await
        .expect(200);
    service
        .delete(&format!("/api/v2/preset/{id}"))
        .await
        .expect(404);
    service
        .get(&format!("/api/v2/preset/{id}"))
        .await
        .expect(404);
}

#[tokio::test]
async fn the_factory_has_presets_and_categories() {
    let service = Fixture::start().await;
    let factory = service.get_json("/api/v2/preset/factory").await;
    let factory = factory.as_array().unwrap();
    assert!(factory.len() >= 8);
    for preset in factory {
        let config: serde_json::Value =
            serde_json::from_str(preset["config"].as_str().unwrap()).unwrap();
        assert_eq!(config["schema"], "2.5");
        let detail = service
            .get_json(&format!("/api/v2/preset/{}", preset["id"]))
            .await;
        assert_eq!(detail["config"], config);
    }
    let found = service.get("/api/v2/preset/factory?q=clean").await.json();
    assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
    let categories = service.get_json("/api/v2/preset/categories").await;
    assert!(categories[0]["slug"].is_string());
}

#[tokio::test]
async fn what_is_not_right_costs_nothing() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let (draft, _) = service.begin("draft", &["a.glb"]).await;
    let before = service.get("/api/v2/user/rapidpoints").await.json();
    let path = |id: u64| format!("/api/v2/rawmodel/optimize/{id}");
    let cases = [
        (id, json!({ "config": {}, "preset_id": 1 }), 422),
        (id, json!({ "preset_id": 999_999 }), 404),
        (id, json!({ "preset_id": "x" }), 422),
        (id, json!({ "config": [] }), 422),
        (
            id,
            json!({ "config": { "limits": { "faces": { "count": -1 } } } }),
            422,
        ),
        (id, json!({ "tags": [""] }), 422),
        (draft, json!({ "preset_id": 1 }), 422),
        (999_999, json!({ "preset_id": 1 }), 404),
    ];
    for (id, body, status) in cases {
        let answer = service.post(&path(id), body.clone()).await;
        assert_eq!(answer.status, status, "{body}");
        assert!(answer.json()["message"].is_string());
    }
    assert_eq!(service.get("/api/v2/user/rapidpoints").await.json(), before);
    assert_eq!(
        service.get("/api/v2/rapidmodel").await.json()["meta"]["total"],
        0
    );
}

#[tokio::test]
async fn points_run_out() {
    let service = Fixture::with(super::support::COPYING_WORKER, |config| {
        config.initial_points = 3;
    })
    .await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let two = json!({ "optimizations": [
        { "model_id": id, "config": {} }, { "model_id": id, "config": {} }
    ] });
    service
        .post("/api/v2/rawmodel/optimize", two.clone())
        .await
        .expect(204);
    let refused = service
        .post("/api/v2/rawmodel/optimize", two)
        .await
        .expect(402);
    assert!(refused.text().contains("1 are left"), "{}", refused.text());
    service.post(&path, json!({})).await.expect(200);
    service.post(&path, json!({})).await.expect(402);
    let points = service.get("/api/v2/user/rapidpoints").await.json();
    assert_eq!(points, json!({ "rapidpoints": 0 }));
    assert_eq!(
        service.get("/api/v2/rapidmodel").await.json()["meta"]["total"],
        3
    );
    let tokens = service.get("/api/v2/user/tokens").await.json();
    assert_eq!(tokens[0]["optimization_count"], 3);
}

#[tokio::test]
async fn several_optimizations_are_accepted_together_or_not_at_all() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let path = "/api/v2/rawmodel/optimize";
    let bad = [
        json!({}),
        json!({ "optimizations": [{ "model_id": id }] }),
        json!({ "optimizations": [{ "config": {} }] }),
        json!({ "optimizations": [{ "model_id": id, "config": {} }, { "model_id": 999, "config": {} }] }),
        json!({ "optimizations": [{ "model_id": id, "config": { "preset_id": 1, "schema": "2.5" } }] }),
        json!({ "optimizations": [{ "model_id": id, "config": { "exportName": "" } }] }),
    ];
    for body in bad {
        let answer = service.post(path, body.clone()).await.expect(400);
        assert!(
            answer.text().starts_with("Could not process request:"),
            "{body}"
        );
        assert!(answer.header("content-type").starts_with("text/plain"));
    }
    let body = json!({ "optimizations": [
        { "model_id": id, "config": { "preset_id": 1, "tags": ["t"], "exportName": "out" } },
        { "model_id": id, "config": { "schema": "2.5" } },
    ] });
    let answer = service.post(path, body).await.expect(204);
    assert_eq!(answer.body, b"");
    let list = service.get("/api/v2/rapidmodel?q=t").await.json();
    let named = list["data"].as_array().unwrap();
    assert!(
        named.iter().any(|rapid| rapid["export_name"] == "out"),
        "{list}"
    );
    let jobs = service.get_json("/api/v2/rawmodel/jobs").await;
    assert!(jobs["data"].is_array());
}

#[tokio::test]
async fn rapid_models_are_tagged_and_deleted() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let mut rapids = Vec::new();
    for _ in 0..3 {
        let asked = service
            .post_json(&format!("/api/v2/rawmodel/optimize/{id}"), json!({}))
            .await;
        rapids.push(asked["id"].as_u64().unwrap());
    }
    let path = format!("/api/v2/rapidmodel/{}", rapids[0]);
    let answer = service
        .json(Method::PUT, &path, json!({ "tags": ["x"] }))
        .await;
    let tag = answer.expect(200).json()["data"]["tags"][0].clone();
    assert_eq!(tag["rapid_id"], rapids[0]);
    service
        .json(Method::PUT, &path, json!({}))
        .await
        .expect(422);
    let found = service.get("/api/v2/rapidmodel?q=x").await.json();
    assert_eq!(found["meta"]["total"], 1);
    assert_eq!(
        service.get("/api/v2/rapidmodel/tags").await.json(),
        json!({ "data": [{ "name": "x" }] })
    );
    service
        .delete(&format!("{path}/tags/{}", tag["id"]))
        .await
        .expect(200);
    let body = json!({ "ids": [rapids[0], rapids[1]] });
    service
        .post("/api/v2/rapidmodel/delete", body)
        .await
        .expect(200);
    let left = service.get("/api/v2/rapidmodel").await.json();
    assert_eq!(left["meta"]["total"], 1);
    assert_eq!(left["data"][0]["id"], rapids[2]);
    service.get(&format!("{path}/renders")).await.expect(404);
}

//! Lists: pages, searches, tags, deletions.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::Fixture;

fn names(list: &Value) -> Vec<&str> {
    let items = list["data"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn pages_follow_the_rules() {
    let service = Fixture::start().await;
    let empty = service.get_json("/api/v2/rawmodel").await;
    assert_eq!(empty["data"], json!([]));
    assert_eq!(empty["meta"]["last_page"], 1);
    assert_eq!(empty["meta"]["total"], 0);
    for number in 0..23 {
        service.begin(&format!("asset {number}"), &["a.glb"]).await;
    }
    let first = service.get("/api/v2/rawmodel").await.json();
    assert_eq!(names(&first).len(), 10);
    assert_eq!(names(&first)[0], "asset 22", "the newest comes first");
    assert_eq!(first["meta"]["per_page"], 10);
    assert_eq!(first["meta"]["current_page"], 1);
    assert_eq!(first["meta"]["from"], 1);
    assert_eq!(first["meta"]["to"], 10);
    assert_eq!(first["meta"]["last_page"], 3);
    assert_eq!(first["meta"]["total"], 23);
    assert_eq!(first["links"]["prev"], json!(null));
    let next = first["links"]["next"].as_str().unwrap();
    assert_eq!(next, service.url("/api/v2/rawmodel?page=2"));
    assert_eq!(first["meta"]["path"], service.url("/api/v2/rawmodel"));
    let last = service.get("/api/v2/rawmodel?page=99").await.json();
    assert_eq!(
        last["meta"]["current_page"], 3,
        "beyond the last is the last"
    );
    assert_eq!(names(&last), ["asset 2", "asset 1", "asset 0"]);
    for beyond in ["4", "18446744073709551615", "99999999999999999999"] {
        let path = format!("/api/v2/rawmodel?page={beyond}");
        let page = service.get_json(&path).await;
        assert_eq!(page["meta"]["current_page"], 3, "{beyond}");
    }
    let most = service
        .get("/api/v2/rawmodel?itemsPerPage=99999999999999999999")
        .await
        .json();
    assert_eq!(most["meta"]["per_page"], 50);
    for strange in ["0", "-1", "x", "", "1e3", "-99999999999999999999"] {
        let path = format!("/api/v2/rawmodel?page={strange}&itemsPerPage={strange}");
        let page = service.get_json(&path).await;
        assert_eq!(page["meta"]["current_page"], 1, "{strange}");
    }
    let kept = service
        .get("/api/v2/rawmodel?q=asset%201&itemsPerPage=2&page=2")
        .await
        .json();
    let next = kept["links"]["next"].as_str().unwrap();
    assert!(
        next.contains("itemsPerPage=2") && next.contains("q=asset+1"),
        "{next}"
    );
    let rapids = service.get("/api/v2/rapidmodel").await.json();
    assert_eq!(rapids["meta"]["per_page"], 12);
}

#[tokio::test]
async fn a_search_finds_names_and_tags() {
    let service = Fixture::start().await;
    for name in ["Old Oak chair", "oak table, old", "100% wool", "Äpfel"] {
        let (id, _) = service.begin(name, &["a.glb"]).await;
        if name == "Äpfel" {
            // A tag that a drive sets for itself is not searched.
            let body = json!({ "tags": ["red fruit", "assetfs:by=Oak workshop"] });
            let path = format!("/api/v2/rawmodel/{id}");
            service.json(Method::PUT, &path, body).await.expect(200);
        }
    }
    let cases: &[(&str, &[&str])] = &[
        ("oak", &["oak table, old", "Old Oak chair"]),
        ("old oak", &["oak table, old", "Old Oak chair"]),
        ("\"old oak\"", &["Old Oak chair"]),
        ("\"OLD OAK", &["Old Oak chair"]),
        ("äPFEL", &["Äpfel"]),
        ("\"red fruit\"", &["Äpfel"]),
        ("%", &["100% wool"]),
        ("_", &[]),
        ("workshop", &[]),
        ("nothing", &[]),
    ];
    for (q, expected) in cases {
        let request = service.request(Method::GET, "/api/v2/rawmodel?q=");
        let url = request.build().unwrap().url().clone();
        let mut url = url;
        url.query_pairs_mut().clear().append_pair("q", q);
        let path = format!("{}?{}", url.path(), url.query().unwrap());
        let found = service.get_json(&path).await;
        assert_eq!(names(&found), *expected, "{q}");
    }
    let long = "x".repeat(5_000);
    service
        .get(&format!("/api/v2/rawmodel?q={long}"))
        .await
        .expect(422);
}

#[tokio::test]
async fn models_are_narrowed_by_state_format_tag_and_size_and_are_sorted() {
    let service = Fixture::start().await;
    let small = service.upload("small", &[("a.glb", b"1")]).await;
    let large = service.upload("large", &[("a.stl", &[0; 5_000])]).await;
    for id in [small, large] {
        service.analysed(id).await;
    }
    service.begin("open", &["b.glb"]).await;
    let tags = json!({ "tags": ["oak"] });
    let path = format!("/api/v2/rawmodel/{small}");
    service.json(Method::PUT, &path, tags).await.expect(200);
    for (query, expected) in [
        ("state=ready", &["large", "small"] as &[&str]),
        ("state=unfinished", &["open"]),
        ("state=busy", &[]),
        ("state=failed", &[]),
        ("format=GLB", &["open", "small"]),
        ("format=glb&state=ready", &["small"]),
        ("tag=oak", &["small"]),
        ("tag=oa", &[]),
        ("size_from=2", &["large"]),
        ("size_to=4999&state=ready", &["small"]),
        ("sort=oldest", &["small", "large", "open"]),
        ("sort=name", &["large", "open", "small"]),
        ("sort=largest&state=ready", &["large", "small"]),
        ("sort=smallest&state=ready", &["small", "large"]),
        ("sort=name&q=l&page=2&itemsPerPage=1", &["small"]),
        (
            "state=&format=&tag=&size_from=",
            &["open", "large", "small"],
        ),
    ] {
        let found = service.get(&format!("/api/v2/rawmodel?{query}")).await;
        assert_eq!(names(&found.expect(200).json()), expected, "{query}");
    }
    for (query, sentence) in [
        ("state=red", "one of ready, busy, failed, unfinished"),
        ("sort=up", "one of newest, oldest, name, largest, smallest"),
        ("size_from=-1", "a number of bytes"),
        ("tag=%00", "no NUL"),
    ] {
        let refused = service.get(&format!("/api/v2/rawmodel?{query}")).await;
        let refused = refused.expect(422).text();
        assert!(refused.contains(sentence), "{query}: {refused}");
    }
    let rapid = service.optimize(small).await;
    service.optimized(rapid).await;
    for (query, expected) in [
        ("state=ready&format=glb", &["small"] as &[&str]),
        ("format=usdz", &[]),
        ("state=failed", &[]),
        ("sort=largest&size_from=1", &["small"]),
        ("size_to=0", &[]),
    ] {
        let found = service.get(&format!("/api/v2/rapidmodel?{query}")).await;
        assert_eq!(names(&found.expect(200).json()), expected, "{query}");
    }
}

#[tokio::test]
async fn tags_are_added_once_and_removed_by_their_ids() {
    let service = Fixture::start().await;
    let (id, _) = service.begin("chair", &["a.glb"]).await;
    let path = format!("/api/v2/rawmodel/{id}");
    let put = |body| service.json(Method::PUT, &path, body);
    let answer = put(json!({ "tags": ["b", "a", "b"], "scale_factor": 0.01 })).await;
    let data = answer.expect(200).json()["data"].clone();
    assert_eq!(data["scale_factor"], "0.01");
    assert_eq!(data["tags"][0]["name"], "b");
    assert_eq!(data["tags"][0]["raw_id"], id);
    let created = data["tags"][0]["created_at"].as_str().unwrap();
    let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let form: String = created.chars().map(digits).collect();
    assert_eq!(form, "0000-00-00 00:00:00+00", "{created}");
    let again = put(json!({ "tags": ["a"] })).await.expect(200).json();
    assert_eq!(again["data"]["tags"].as_array().unwrap().len(), 2);
    for bad in [
        json!({ "tags": [""] }),
        json!({ "tags": ["x".repeat(256)] }),
        json!({ "tags": [1] }),
        json!({ "tags": "a" }),
        json!({ "scale_factor": 0 }),
        json!({ "scale_factor": 1e308 }),
        json!({ "scale_factor": 1e-300 }),
        json!({ "scale_factor": "wide" }),
    ] {
        put(bad).await.expect(422);
    }
    put(json!({ "tags": ["ü".repeat(255)] })).await.expect(200);
    let all = service.get_json("/api/v2/rawmodel/tags").await;
    assert_eq!(all["data"][0], json!({ "name": "a" }));
    let tag = data["tags"][0]["id"].as_u64().unwrap();
    let (other, _) = service.begin("table", &["a.glb"]).await;
    service
        .delete(&format!("/api/v2/rawmodel/{other}/tags/{tag}"))
        .await
        .expect(404);
    service
        .delete(&format!("{path}/tags/{tag}"))
        .await
        .expect(200);
    service
        .delete(&format!("{path}/tags/{tag}"))
        .await
        .expect(404);
}

#[tokio::test]
async fn several_are_deleted_at_once() {
    let service = Fixture::start().await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(service.begin(&format!("{number}"), &["a.glb"]).await.0);
    }
    let delete = "/api/v2/rawmodel/delete";
    service.post(delete, json!({})).await.expect(422);
    service
        .post(delete, json!({ "ids": ["x"] }))
        .await
        .expect(422);
    let body = json!({ "ids": [ids[0], ids[2], 999_999] });
    service.post(delete, body).await.expect(200);
    let left = service.get("/api/v2/rawmodel").await.json();
    assert_eq!(names(&left), ["1"]);
}

#[tokio::test]
async fn times_have_the_forms_of_the_api() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    let created = asset["data"]["created_at"].as_str().unwrap();
    assert!(created.ends_with('Z') && created.len() == 27, "{created}");
    let asked = service
        .post_json(&format!("/api/v2/rawmodel/optimize/{id}"), json!({}))
        .await;
    let job = asked["job_status"]["created_at"].as_str().unwrap();
    assert!(job.len() == 19 && job.as_bytes()[10] == b' ', "{job}");
}

#[tokio::test]
async fn a_large_account_is_paged_searched_and_read_like_a_small_one() {
    let service = Fixture::start().await;
    service.service.add_sample_assets(2_500).await.unwrap();
    let last = service
        .get("/api/v2/rawmodel?itemsPerPage=50&page=50")
        .await
        .json();
    assert_eq!(last["meta"]["total"], 2_500);
    assert_eq!(names(&last)[49], "sample 000000");
    let found = service
        .get("/api/v2/rawmodel?q=%22sample%20001234%22")
        .await
        .json();
    assert_eq!(names(&found), ["sample 001234"]);
    let id = &found["data"][0]["id"];
    let url = found["data"][0]["downloads"]["sample.glb"]
        .as_str()
        .unwrap();
    assert_eq!(service.read(url).await.expect(200).body.len(), 12);
    service
        .delete(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(200);
    let storage = service.get("/api/v2/user/storage").await.json();
    let quota = 100_000_000_000_u64;
    let thumbnail = include_bytes!("../../src/service/sample_thumbnail.jpg").len() as u64;
    assert_eq!(storage["storage_left"], quota - (12 + thumbnail) * 2_499);
}

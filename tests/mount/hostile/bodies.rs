//! Pages and bodies that never end, that are too large, or that have the wrong type.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::service::{answer, asset, hostile, id_after, page, page_number, status};
use super::{Mounted, file};
use crate::fault_server::{Asked, Reply};
use crate::needs_fuse;
use crate::support::{assetfs, run, shell};

/// A list that repeats its pages after three and claims to have very many.
fn endless(asked: &Asked, _: &str) -> Option<Reply> {
    if asked.path() != "/api/v2/rawmodel" || asked.query().contains("q=") {
        return None;
    }
    let number = page_number(asked);
    let first = 1 + (number - 1) % 3 * 10;
    let records: Vec<Value> = (first..first + 10)
        .map(|id| asset(id, &json!(format!("model {id}"))))
        .collect();
    answer(&page(&records, number, 15_000, u64::MAX))
}

#[test]
fn pages_without_end_that_go_in_circles_end() {
    needs_fuse!();
    let mounted = Mounted::over(hostile(endless), &[]);
    let began = Instant::now();
    assert_eq!(shell(mounted.root(), "ls rawmodels | wc -l").trim(), "30");
    let asked = mounted.service.count();
    assert!(
        asked < 30 && began.elapsed() < Duration::from_secs(20),
        "{asked} requests"
    );
    shell(mounted.root(), "stat 'rawmodels/model 17' >/dev/null");
}

/// A list that is a gigabyte of white space, one of deeply nested arrays, and a preset.
fn gigantic(asked: &Asked, _: &str) -> Option<Reply> {
    match asked.path() {
        "/api/v2/rawmodel" => Some(Reply::repeated(&" ".repeat(1 << 20), 1024)),
        "/api/v2/rapidmodel" => {
            let deep = "[".repeat(2_000_000);
            Some(Reply::json_text(format!(r#"{{"data":{deep}"#)))
        }
        "/api/v2/preset" => answer(&json!([{"id": 1, "name": "web", "config": {"limits": {}}}])),
        _ => None,
    }
}

#[test]
fn gigantic_and_endless_bodies_are_refused_and_other_reads_work() {
    needs_fuse!();
    let mounted = Mounted::over(hostile(gigantic), &[]);
    for folder in ["rawmodels", "rapidmodels"] {
        let listed = format!("timeout 60 ls {folder} 2>&1 && echo listed || true");
        let said = shell(mounted.root(), &listed);
        assert!(said.contains("Input/output error"), "{folder}: {said}");
        let why = run(assetfs("why", mounted.root().join(folder)));
        assert!(!why.trim().is_empty());
    }
    assert_eq!(shell(mounted.root(), "ls presets"), "factory\nweb.json\n");
    let memory = mounted.memory_mib();
    assert!(memory < 200, "{memory} MiB");
}

/// Records with wrong types, between two correct ones.
fn wrong_types(asked: &Asked, base_url: &str) -> Option<Reply> {
    if asked.path() == "/api/v2/rawmodel" && !asked.query().contains("q=") {
        let mut odd = asset(3, &json!(["a", "list"]));
        for (key, value) in [
            ("tags", json!("none")),
            ("downloads", json!([1, 2])),
            ("size", json!({})),
            ("created_at", json!(-1)),
            ("upload_status", json!(null)),
            ("progress", json!("many")),
            ("scale_factor", json!([])),
            ("format", json!(7)),
            ("rapid_models", json!({"a": "b"})),
        ] {
            odd[key] = value;
        }
        let records = [
            asset(5, &json!("last")),
            json!(null),
            json!("text"),
            json!([]),
            json!({}),
            json!({"id": "x"}),
            json!({"id": -1, "name": "negative"}),
            json!({"id": 1e300, "name": "large"}),
            odd,
            asset(1, &json!("first")),
        ];
        return answer(&page(&records, 1, 1, 3));
    }
    if let Some((id, below)) = id_after(asked, "/api/v2/rawmodel/") {
        return match below {
            "" => answer(&json!({"data": asset(id, &json!("first"))})),
            "downloads" => answer(&json!({
                "null": null, "number": 7, "list": [], "no url": "not a URL", "file url": "file:///etc/passwd",
                "script": "javascript:alert(1)", "good.txt": format!("{base_url}storage/1")})),
            _ => answer(&json!("nothing of what was asked")),
        };
    }
    match asked.path() {
        "/storage/1" => Some(file()),
        "/api/v2/rapidmodel" | "/api/v2/embeds" => answer(&json!(7)),
        "/api/v2/preset" => answer(&json!({"data": {"a": 1}})),
        "/api/v2/user/rapidpoints" | "/api/v2/user/storage" => {
            answer(&json!({"rapidpoints": [], "storage_left": -5}))
        }
        "/api/v2/rawmodel/jobs" => Some(status(418)),
        _ => None,
    }
}

#[test]
fn what_has_the_wrong_type_hides_nothing_that_has_the_right_one() {
    needs_fuse!();
    let mounted = Mounted::over(hostile(wrong_types), &[]);
    let root = mounted.root();
    let listed = shell(root, "ls rawmodels");
    assert!(
        listed.contains("first\n") && listed.contains("last\n"),
        "{listed}"
    );
    assert_eq!(shell(root, "cat rawmodels/first/good.txt"), "hello");
    let secret = shell(root, "cat rawmodels/first/* 2>/dev/null || true");
    assert!(!secret.contains("root:"), "{secret}");
    // The whole tree can be walked, in spite of failures.
    shell(root, "timeout 100 find . >/dev/null 2>&1 || test $? = 1");
    shell(root, "timeout 100 ls -lR >/dev/null 2>&1 || test $? -le 2");
    shell(
        root,
        "timeout 10 df . >/dev/null; test -s .assetfs/status.json",
    );
}

/// A storage, or a proxy before it, that compresses what it sends.
fn compressed(asked: &Asked, base_url: &str) -> Option<Reply> {
    if let Some((id, below)) = id_after(asked, "/api/v2/rawmodel/") {
        return match below {
            "" => answer(&json!({"data": asset(id, &json!("chair"))})),
            "downloads" => answer(&json!({"chair.glb": format!("{base_url}storage/1")})),
            _ => None,
        };
    }
    match asked.path() {
        "/api/v2/rawmodel" => answer(&page(&[asset(1, &json!("chair"))], 1, 1, 1)),
        "/storage/1" => Some(Reply::new(
            200,
            &[("content-encoding", "gzip")],
            "\u{1f}no bytes of the file",
        )),
        _ => None,
    }
}

#[test]
fn a_compressed_body_is_no_file_and_why_gives_the_reason() {
    needs_fuse!();
    let mounted = Mounted::over(hostile(compressed), &[]);
    let root = mounted.root();
    for command in ["cat", "stat"] {
        let line =
            format!("timeout 60 {command} rawmodels/chair/chair.glb 2>&1 && echo read || true");
        let said = shell(root, &line);
        assert!(said.contains("Input/output error"), "{command}: {said}");
        assert!(!said.contains("no bytes"), "{command}: {said}");
    }
    let why = run(assetfs("why", root.join("rawmodels/chair/chair.glb")));
    assert!(why.contains("compressed (gzip)"), "{why}");
}

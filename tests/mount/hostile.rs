//! A service that means harm: its names, its pages and its bodies. What can be is listed, read and deleted; nothing leaves
//! its folder, and nothing takes the drive with it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Method, Response, StatusCode, header};
use futures_util::stream;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hostile_service::{Asked, HostileService, answer, asset, page, status, text};
use crate::needs_fuse;
use crate::support::{ASSETFS, MountPoint, run, shell};

/// The drive over such a service.
struct Mounted {
    // Unmounted before its folder goes.
    mount: MountPoint,
    service: HostileService,
    scratch: TempDir,
}

impl Mounted {
    fn over(service: HostileService, extra: &[&str]) -> Mounted {
        let scratch = tempfile::tempdir().unwrap();
        let place = |name: &str| scratch.path().join(name);
        run(Command::new(ASSETFS)
            .arg("mount")
            .arg(place("mnt"))
            .args(["--base-url", &service.base_url, "--refresh", "1s"])
            .arg("--state-dir")
            .arg(place("state"))
            .arg("--cache-dir")
            .arg(place("cache"))
            .args(extra)
            .env("ASSETFS_TOKEN", "1|hostile"));
        Mounted {
            mount: MountPoint(place("mnt")),
            service,
            scratch,
        }
    }

    fn root(&self) -> &Path {
        &self.mount.0
    }

    /// The most memory that the process behind the mount has had, without its files, in MiB.
    fn memory_mib(&self) -> u64 {
        let status: Value =
            serde_json::from_slice(&fs::read(self.root().join(".assetfs/status.json")).unwrap())
                .unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", status["pid"])).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("RssAnon"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1024
    }
}

/// Names that would do harm if they were taken as they are.
fn hostile_names() -> Vec<String> {
    let long = [
        "x".repeat(300),
        "ж".repeat(200),
        format!("{}.glb", "y".repeat(400)),
    ];
    let odd = [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "",
        "\0",
        "a\0b",
        ".assetfs",
        "optimize",
        "renders",
        "a/b",
        "a//b",
        "line\nbreak",
        "\u{1b}[31mred",
        "\u{202e}gpj.exe",
        "\u{2066}hidden\u{2069}",
        "\u{feff}bom",
        "50%25",
        "%2E%2E",
        "%",
        "-rf",
        "~",
        "*",
        "$(reboot)",
        "`id`",
        "a\\b",
        "\"'",
        " leading",
        "trailing ",
        "trailing.",
        "con",
        "name~7",
        "twin",
        "twin",
        "twin",
        "Case",
        "case",
        "CASE",
        "caf\u{e9}",
        "cafe\u{301}",
        "\u{200b}",
        "ＦＵＬＬ",
    ];
    odd.into_iter().map(str::to_owned).chain(long).collect()
}

/// An account whose assets have these names, and each of them files of these names.
fn with_names(names: Vec<String>) -> HostileService {
    let left: Vec<(u64, String)> = (1..).zip(names.clone()).collect();
    let left = Arc::new(Mutex::new(left));
    HostileService::start(move |asked, base_url| {
        let records = || -> Vec<Value> {
            let left = left.lock().unwrap();
            left.iter()
                .rev()
                .map(|(id, name)| asset(*id, &json!(name)))
                .collect()
        };
        if asked.path == "/api/v2/rawmodel" && asked.method == Method::GET {
            let records = match asked.query.contains("q=") {
                true => Vec::new(),
                false => records(),
            };
            return answer(&page(&records, asked.page(), 1, records.len() as u64));
        }
        if let Some((id, below)) = asked.id_after("/api/v2/rawmodel/") {
            let record = records().into_iter().find(|record| record["id"] == id)?;
            return match (asked.method.as_str(), below) {
                ("DELETE", "") => {
                    left.lock().unwrap().retain(|(it, _)| *it != id);
                    Some(text(""))
                }
                ("GET", "") => answer(&json!({ "data": record })),
                ("GET", "downloads") => {
                    let url = |at: usize| format!("{base_url}storage/{id}/{at}");
                    // One name has all the files, the others enough.
                    let count = if record["name"] == "twin" {
                        names.len()
                    } else {
                        3
                    };
                    let files = names
                        .iter()
                        .take(count)
                        .enumerate()
                        .map(|(at, name)| (name.clone(), json!(url(at))));
                    answer(&Value::Object(files.collect()))
                }
                ("GET", "downloads/pbr") => {
                    let url = format!("{base_url}storage/{id}/0");
                    answer(
                        &json!({"materials": {"wood.mdl": url, "../../up.mdl": url}, "qc": {"render_0.png": url}}),
                    )
                }
                ("GET", "rapidmodels") => answer(&json!([])),
                _ => None,
            };
        }
        asked.path.starts_with("/storage/").then(file)
    })
}

fn file() -> Response<Body> {
    let response = Response::builder().header(header::ETAG, "\"5d41402abc4b2a76b9719d911017c592\"");
    response.body(Body::from("hello")).unwrap()
}

fn names_in(dir: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

fn assert_safe(name: &std::ffi::OsStr) {
    let parts: Vec<_> = Path::new(name).components().collect();
    assert!(matches!(parts[..], [Component::Normal(_)]), "{name:?}");
    let text = name.to_str().expect("UTF-8");
    assert!(
        !text
            .chars()
            .any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)),
        "{name:?}"
    );
    assert!(
        text != ".assetfs" && name.as_bytes().len() <= 255,
        "{name:?}"
    );
}

#[test]
fn hostile_names_are_listed_read_and_deleted_and_none_leaves_its_folder() {
    needs_fuse!();
    let names = hostile_names();
    let mounted = Mounted::over(with_names(names.clone()), &["--delete-limit", "1000"]);
    let models = mounted.root().join("rawmodels");
    let listed = names_in(&models);
    assert_eq!(listed.len(), names.len(), "{listed:?}");
    for name in &listed {
        assert_safe(name);
        let status = fs::read_to_string(models.join(name).join(".assetfs/status"));
        assert_eq!(status.unwrap(), "complete\n", "{name:?}");
    }
    // Names that collide are told apart by id, so every file of the service is there to be read.
    let model = models.join("twin");
    let found = shell(
        &model,
        "find . -type f -not -path './pbr/*' -exec cat {} +; find . -type f -not -path './pbr/*' | wc -l",
    );
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    let count: usize = found
        .rsplit("hello")
        .next()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(count, distinct.len(), "{found}");
    assert_eq!(found.matches("hello").count(), count);
    for entry in walk(&model) {
        assert_safe(entry.file_name().unwrap());
    }
    // A copy of the drive stays inside the copy.
    let copy = mounted.scratch.path().join("out/deep/copy");
    fs::create_dir_all(&copy).unwrap();
    run(Command::new("cp").arg("-r").arg(&model).arg(&copy));
    assert_eq!(names_in(&mounted.scratch.path().join("out")), ["deep"]);
    assert_eq!(names_in(&copy), ["twin"]);
    // By its shown name each is deleted, and only that one.
    for name in &listed {
        run(Command::new("rm").args(["-r", "--"]).arg(models.join(name)));
    }
    let mut deleted: Vec<u64> = mounted
        .service
        .asked(&Method::DELETE, "/api/v2/rawmodel/")
        .iter()
        .filter_map(|asked| Some(asked.id_after("/api/v2/rawmodel/")?.0))
        .collect();
    deleted.sort_unstable();
    let all: Vec<u64> = (1..=names.len() as u64).collect();
    assert_eq!(deleted, all);
    assert!(names_in(&models).is_empty());
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for name in names_in(dir) {
        let path = dir.join(name);
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn materials_that_were_converted_are_files() {
    needs_fuse!();
    let mounted = Mounted::over(with_names(vec!["scene".into()]), &[]);
    let pbr = "cd rawmodels/scene/pbr && find . -type f | sort";
    assert_eq!(
        shell(mounted.root(), pbr),
        "./materials%2F..%2F..%2Fup.mdl\n./materials/wood.mdl\n./qc/render_0.png\n"
    );
    assert_eq!(
        shell(mounted.root(), "cat rawmodels/scene/pbr/materials/wood.mdl"),
        "hello"
    );
}

/// A list whose pages repeat after three, and which says it never ends.
fn endless(asked: &Asked, _: &str) -> Option<Response<Body>> {
    if asked.path != "/api/v2/rawmodel" || asked.query.contains("q=") {
        return None;
    }
    let number = asked.page();
    let first = 1 + (number - 1) % 3 * 10;
    let records: Vec<Value> = (first..first + 10)
        .map(|id| asset(id, &json!(format!("model {id}"))))
        .collect();
    answer(&page(&records, number, u64::MAX, u64::MAX))
}

#[test]
fn pages_without_end_that_go_in_circles_end() {
    needs_fuse!();
    let mounted = Mounted::over(HostileService::start(endless), &[]);
    let began = Instant::now();
    assert_eq!(shell(mounted.root(), "ls rawmodels | wc -l").trim(), "30");
    let asked = mounted
        .service
        .asked(&Method::GET, "/api/v2/rawmodel")
        .len();
    assert!(
        asked < 30 && began.elapsed() < Duration::from_secs(20),
        "{asked} requests"
    );
    shell(mounted.root(), "stat 'rawmodels/model 17' >/dev/null");
}

/// A list that is a gigabyte of white space, and files that are no list at all.
fn gigantic(asked: &Asked, _: &str) -> Option<Response<Body>> {
    match asked.path.as_str() {
        "/api/v2/rawmodel" => {
            let space = bytes::Bytes::from(vec![b' '; 1 << 20]);
            let body = stream::iter((0..1024).map(move |_| Ok::<_, std::io::Error>(space.clone())));
            Some(text(Body::from_stream(body)))
        }
        "/api/v2/rapidmodel" => {
            let deep = "[".repeat(2_000_000);
            Some(text(format!(r#"{{"data":{deep}"#)))
        }
        "/api/v2/preset" => answer(&json!([{"id": 1, "name": "web", "config": {"limits": {}}}])),
        _ => None,
    }
}

#[test]
fn gigantic_and_bottomless_bodies_are_refused_and_the_rest_goes_on() {
    needs_fuse!();
    let mounted = Mounted::over(HostileService::start(gigantic), &[]);
    for folder in ["rawmodels", "rapidmodels"] {
        let listed = format!("timeout 60 ls {folder} 2>&1 && echo listed || true");
        let said = shell(mounted.root(), &listed);
        assert!(said.contains("Input/output error"), "{folder}: {said}");
        let why = run(Command::new(ASSETFS)
            .arg("why")
            .arg(mounted.root().join(folder)));
        assert!(!why.trim().is_empty());
    }
    assert_eq!(shell(mounted.root(), "ls presets"), "factory\nweb.json\n");
    let memory = mounted.memory_mib();
    assert!(memory < 200, "{memory} MiB");
}

/// Records in which nothing has the type that it should have, between two that are as they should be.
fn wrong_types(asked: &Asked, base_url: &str) -> Option<Response<Body>> {
    if asked.path == "/api/v2/rawmodel" && !asked.query.contains("q=") {
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
    if let Some((id, below)) = asked.id_after("/api/v2/rawmodel/") {
        return match below {
            "" => answer(&json!({"data": asset(id, &json!("first"))})),
            "downloads" => answer(&json!({
                "null": null, "number": 7, "list": [], "no url": "not a URL", "file url": "file:///etc/passwd",
                "script": "javascript:alert(1)", "good.txt": format!("{base_url}storage/1")})),
            _ => answer(&json!("nothing of what was asked")),
        };
    }
    match asked.path.as_str() {
        "/storage/1" => Some(file()),
        "/api/v2/rapidmodel" | "/api/v2/embeds" => answer(&json!(7)),
        "/api/v2/preset" => answer(&json!({"data": {"a": 1}})),
        "/api/v2/user/rapidpoints" | "/api/v2/user/storage" => {
            answer(&json!({"rapidpoints": [], "storage_left": -5}))
        }
        "/api/v2/rawmodel/jobs" => Some(status(StatusCode::IM_A_TEAPOT)),
        _ => None,
    }
}

#[test]
fn what_has_the_wrong_type_hides_nothing_that_has_the_right_one() {
    needs_fuse!();
    let mounted = Mounted::over(HostileService::start(wrong_types), &[]);
    let root = mounted.root();
    let listed = shell(root, "ls rawmodels");
    assert!(
        listed.contains("first\n") && listed.contains("last\n"),
        "{listed}"
    );
    assert_eq!(shell(root, "cat rawmodels/first/good.txt"), "hello");
    let secret = shell(root, "cat rawmodels/first/* 2>/dev/null || true");
    assert!(!secret.contains("root:"), "{secret}");
    // All of it can be walked, whatever fails on the way.
    shell(root, "timeout 100 find . >/dev/null 2>&1 || test $? = 1");
    shell(root, "timeout 100 ls -lR >/dev/null 2>&1 || test $? -le 2");
    shell(
        root,
        "timeout 10 df . >/dev/null; test -s .assetfs/status.json",
    );
}

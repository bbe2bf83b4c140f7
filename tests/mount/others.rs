//! Changes by another client, here curl, are shown in the mount: within the refresh time, and with webhooks within a
//! second of their end. Nothing was listed before.

use std::fs;
use std::io::Read as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Fixture, assetfs, exists, run, shell, wait_until};
use crate::ways::models::triangle_glb;
use crate::{needs_fuse, needs_program};

/// A little more than the refresh time of a [`Fixture`].
const REFRESHED: Duration = Duration::from_millis(1_300);

/// Calls the API with curl; returns the answer.
fn curl(fixture: &Fixture, method: &str, path: &str, body: &str) -> Value {
    let mut command = Command::new("curl");
    command.args(["-sS", "--fail-with-body", "-X", method]);
    command.args([
        "-H",
        &format!("Authorization: Bearer {}", fixture.service.token()),
    ]);
    command.args(["-H", "Accept: application/json"]);
    if !body.is_empty() {
        command.args(["-H", "Content-Type: application/json", "-d", body]);
    }
    command.arg(format!("{}api/v2/{path}", fixture.service.base_url));
    serde_json::from_str(&run(&mut command)).unwrap_or(Value::Null)
}

fn begin(fixture: &Fixture, name: &str) -> Value {
    let body = format!(r#"{{"model_name":"{name}","filenames":["model.glb"]}}"#);
    curl(fixture, "POST", "rawmodel/api-upload/start", &body)
}

/// Uploads a model and waits for the end of its import; returns its id.
pub fn upload(fixture: &Fixture, name: &str) -> u64 {
    let started = begin(fixture, name);
    let local = fixture.scratch.path().join("model.glb");
    fs::write(&local, triangle_glb(name)).unwrap();
    let url = started["links"]["s3_upload_urls"]["model.glb"]
        .as_str()
        .unwrap();
    run(Command::new("curl")
        .args(["-sS", "--fail", "-T"])
        .args([local.as_os_str(), url.as_ref()]));
    let id = started["id"].as_u64().unwrap();
    curl(
        fixture,
        "GET",
        &format!("rawmodel/{id}/api-upload/complete"),
        "",
    );
    until(fixture, &format!("rawmodel/{id}"), |it| {
        it["upload_status"] == "complete"
    });
    id
}

/// Notes, as a drive does, that a model was sent to replace another one.
pub fn note_replaces(fixture: &Fixture, new: u64, old: u64) {
    let note = format!(r#"{{"tags":["assetfs:replaces={old}"]}}"#);
    curl(fixture, "PUT", &format!("rawmodel/{new}"), &note);
}

fn until(fixture: &Fixture, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    wait_until(path, || {
        let record = fixture.service.get(&format!("api/v2/{path}"));
        last = record.get("data").cloned().unwrap_or(record);
        is_so(&last)
    });
    last
}

/// Optimizes and waits for the end; returns the id of the rapid model.
fn optimize(fixture: &Fixture, asset: u64) -> u64 {
    let config = r#"{"config":{"limits":{"faces":{"percentage":50}},"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}}"#;
    let rapid = curl(
        fixture,
        "POST",
        &format!("rawmodel/optimize/{asset}"),
        config,
    );
    let id = rapid["id"]
        .as_u64()
        .or_else(|| rapid["data"]["id"].as_u64())
        .unwrap();
    until(fixture, &format!("rapidmodel/{id}"), |it| {
        it["optimization"] == "done" || it["optimization_status"] == "done"
    });
    id
}

#[test]
fn what_another_client_does_shows_within_the_refresh_time() {
    needs_fuse!();
    needs_program!("curl");
    let fixture = Fixture::new();
    let root = fixture.root();
    let look = |line: &str| {
        std::thread::sleep(REFRESHED);
        shell(&root, line)
    };
    assert_eq!(
        shell(&root, "ls rawmodels rapidmodels embeds"),
        "embeds:\n\nrapidmodels:\n\nrawmodels:\n"
    );
    assert_eq!(shell(&root, "ls presets"), "factory\n");
    let asset = upload(&fixture, "oak");
    assert_eq!(
        look("ls rawmodels; cat rawmodels/oak/.assetfs/status"),
        "oak\ncomplete\n"
    );
    curl(
        &fixture,
        "PUT",
        &format!("rawmodel/{asset}"),
        r#"{"tags":["new"]}"#,
    );
    assert_eq!(
        look("getfattr --only-values -n user.xdg.tags rawmodels/oak"),
        "new"
    );
    let rapid = optimize(&fixture, asset);
    assert_eq!(
        look("ls rapidmodels rawmodels/oak/rapidmodels | grep -c oak"),
        "3\n"
    );
    let body = format!(r#"{{"model_id":{rapid},"name":"Showroom"}}"#);
    let embed = curl(&fixture, "POST", "embeds/create", &body);
    assert_eq!(look("ls embeds"), "Showroom.html\n");

    let preset = r#"{"name":"web","config":{"limits":{"faces":{"count":500}}}}"#;
    let preset = curl(&fixture, "POST", "preset/create", preset);
    assert_eq!(look("ls presets"), "factory\nweb.json\n");
    let id = preset["id"]
        .as_u64()
        .or_else(|| preset["data"]["id"].as_u64())
        .unwrap();
    let renamed =
        format!(r#"{{"id":{id},"name":"shop","config":{{"limits":{{"faces":{{"count":600}}}}}}}}"#);
    curl(&fixture, "PATCH", "preset/update", &renamed);
    assert_eq!(
        look("ls presets; grep -c 600 presets/shop.json"),
        "factory\nshop.json\n1\n"
    );

    curl(
        &fixture,
        "DELETE",
        &format!("embeds/{}", embed["embed_id"]),
        "",
    );
    curl(&fixture, "DELETE", &format!("rapidmodel/{rapid}"), "");
    assert_eq!(look("ls embeds rapidmodels"), "embeds:\n\nrapidmodels:\n");
    // One deleted and one created between two listings: the total is the same, the newest is not.
    curl(&fixture, "DELETE", &format!("rawmodel/{asset}"), "");
    begin(&fixture, "pine");
    assert_eq!(look("ls rawmodels"), "pine\n");
    assert!(!exists(fixture.path("rawmodels/oak")));
    // The newest is the same: an older one is deleted, and another is created and deleted.
    let older = begin(&fixture, "older");
    begin(&fixture, "newer");
    assert_eq!(look("ls rawmodels"), "newer\nolder\npine\n");
    curl(&fixture, "DELETE", &format!("rawmodel/{}", older["id"]), "");
    assert_eq!(look("ls rawmodels"), "newer\npine\n");
}

#[test]
fn with_webhooks_the_ends_of_work_elsewhere_show_within_a_second() {
    needs_fuse!();
    needs_program!("curl");
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&["--webhook-listen", "127.0.0.1:0", "--refresh", "10m"]);
    let root = fixture.root();
    wait_until("the mount is registered", || {
        fixture
            .service
            .get("api/v2/user/webhooks")
            .to_string()
            .contains("127.0.0.1")
    });
    // Listed once; from now on only events report changes.
    assert_eq!(
        shell(&root, "ls rawmodels rapidmodels embeds"),
        "embeds:\n\nrapidmodels:\n\nrawmodels:\n"
    );
    let a_second_later = |line: &str| {
        std::thread::sleep(Duration::from_secs(1));
        shell(&root, line)
    };
    let asset = upload(&fixture, "oak");
    assert_eq!(
        a_second_later("ls rawmodels; cat rawmodels/oak/.assetfs/status"),
        "oak\ncomplete\n"
    );
    shell(&root, "ls rawmodels/oak/rapidmodels");
    let rapid = optimize(&fixture, asset);
    let seen = a_second_later("ls rapidmodels; cat rapidmodels/*/.assetfs/status");
    assert!(
        seen.starts_with("oak") && seen.ends_with("\ndone\n"),
        "{seen}"
    );
    let body = format!(r#"{{"model_id":{rapid},"name":"Showroom"}}"#);
    curl(&fixture, "POST", "embeds/create", &body);
    assert_eq!(a_second_later("ls embeds"), "Showroom.html\n");
}

#[test]
fn the_first_look_after_a_remount_shows_what_was_done_meanwhile() {
    needs_fuse!();
    needs_program!("curl");
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&[]);
    let root = fixture.root();
    let gone = begin(&fixture, "gone");
    begin(&fixture, "stays");
    assert_eq!(
        shell(&root, "ls rawmodels; ls presets"),
        "gone\nstays\nfactory\n"
    );
    run(assetfs("unmount", &root));
    curl(&fixture, "DELETE", &format!("rawmodel/{}", gone["id"]), "");
    begin(&fixture, "new");
    let preset = r#"{"name":"web","config":{"limits":{"faces":{"count":500}}}}"#;
    curl(&fixture, "POST", "preset/create", preset);
    fixture.mount(&[]);
    assert_eq!(
        shell(&root, "ls rawmodels; ls presets"),
        "new\nstays\nfactory\nweb.json\n"
    );
}

#[test]
fn many_hits_and_hits_by_tag_do_not_mislead_a_look_up() {
    needs_fuse!();
    needs_program!("curl");
    let mut fixture = Fixture::unmounted(&[]);
    // The searched item is the oldest, after a page of others whose names contain its name.
    let wanted = begin(&fixture, "part")["id"].as_u64().unwrap();
    for number in 0..60 {
        begin(&fixture, &format!("part {number}"));
    }
    let tagged = begin(&fixture, "other")["id"].as_u64().unwrap();
    curl(
        &fixture,
        "PUT",
        &format!("rawmodel/{tagged}"),
        r#"{"tags":["lonely","part 7"]}"#,
    );
    fixture.mount(&[]);
    let root = fixture.root();
    let id = shell(
        &root,
        "getfattr --only-values -n user.assetfs.id rawmodels/part",
    );
    assert_eq!(id, wanted.to_string());
    assert!(
        !exists(fixture.path("rawmodels/lonely")),
        "a tag is no name"
    );
    assert!(
        !exists(fixture.path("rawmodels/par")),
        "a part of a name is no name"
    );
    let other = shell(
        &root,
        "getfattr --only-values -n user.assetfs.id 'rawmodels/part 7'",
    );
    assert_ne!(other, tagged.to_string());
    assert_eq!(shell(&root, "ls rawmodels | wc -l").trim(), "62");
}

#[test]
fn a_file_deleted_elsewhere_while_open_ends_without_hanging_readers() {
    needs_fuse!();
    needs_program!("curl");
    let fixture = Fixture::new();
    let asset = upload(&fixture, "oak");
    let path = fixture.path("rawmodels/oak/model.glb");
    let mut half_read = fs::File::open(&path).unwrap();
    let mut head = [0_u8; 4];
    half_read.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"glTF");
    let unread = fs::File::open(fixture.path("rawmodels/oak/analysis/info.log")).unwrap();
    curl(&fixture, "DELETE", &format!("rawmodel/{asset}"), "");
    std::thread::sleep(REFRESHED);
    assert_eq!(shell(&fixture.root(), "ls rawmodels"), "");
    assert!(!exists(&path));
    // Fetched bytes can be read; others are an error, without a long wait.
    let began = Instant::now();
    let mut rest = Vec::new();
    let read = half_read.read_to_end(&mut rest);
    assert!(read.is_err() || rest.len() + 4 == triangle_glb("oak").len());
    let _ = std::io::read_to_string(unread);
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert!(fs::File::open(&path).is_err());
}

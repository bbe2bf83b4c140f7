//! What the API can do, done with the shell on a real mount: the rows of `docs/api-coverage.md`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, MountPoint, exists, run, shell, text, wait_until};
use crate::ways::models::triangle_glb;

const HALF: &str = r#"{"schema":"2.5","limits":{"faces":{"percentage":50}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"},{"fileType":"usdz"}]}}"#;

/// A model of one triangle in `rawmodels/NAME`, complete.
pub fn add_triangle(fixture: &Fixture, name: &str) {
    let file = fixture.path(&format!("rawmodels/{name}.glb"));
    fs::write(file, triangle_glb(name)).unwrap();
    fixture.wait(&format!("rawmodels/{name}.glb"));
}

/// Copies a text to a path of the drive.
pub fn drop_text(fixture: &Fixture, path: &str, content: &str) {
    let local = fixture.scratch.path().join("dropped.json");
    fs::write(&local, content).unwrap();
    run(Command::new("cp").arg(&local).arg(fixture.path(path)));
}

/// Drops the preset and waits; gives the folder of the result.
fn optimized(fixture: &Fixture, name: &str) -> String {
    drop_text(
        fixture,
        &format!("rawmodels/{name}/optimize/half.json"),
        HALF,
    );
    fixture.wait(&format!("rawmodels/{name}/optimize/half.json"));
    let link = fixture.path(&format!("rawmodels/{name}/optimize/half"));
    let target = fs::read_link(link).unwrap();
    let rapid = target.file_name().unwrap().to_string_lossy();
    format!("rapidmodels/{rapid}")
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn tags_of(record: &Value) -> Vec<&str> {
    let names = record["tags"].as_array().unwrap().iter();
    let mut names: Vec<&str> = names.map(|tag| tag["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

fn total(fixture: &Fixture, path: &str) -> u64 {
    fixture.service.get(path)["meta"]["total"].as_u64().unwrap()
}

#[test]
fn tags_are_edited_by_setfattr_and_found_by_search() {
    needs_fuse!();
    let fixture = Fixture::new();
    let root = fixture.root();
    add_triangle(&fixture, "oak chair");
    add_triangle(&fixture, "pine");
    let rapid = optimized(&fixture, "pine");
    for folder in ["rawmodels/pine", &rapid] {
        let set = |tags: &str| {
            shell(
                &root,
                &format!("setfattr -n user.xdg.tags -v '{tags}' '{folder}'"),
            );
            shell(
                &root,
                &format!("getfattr --only-values -n user.xdg.tags '{folder}'"),
            )
        };
        assert_eq!(set("soft%2C cheap,new"), "soft%2C cheap,new");
        assert_eq!(set("new,soft%2C cheap,oak"), "soft%2C cheap,new,oak");
        assert_eq!(set("oak"), "oak");
        let long = "x".repeat(256);
        let refused = format!("setfattr -n user.xdg.tags -v '{long}' '{folder}' 2>&1 || true");
        assert!(shell(&root, &refused).contains("Invalid argument"));
        let kept = format!("getfattr --only-values -n user.xdg.tags '{folder}'");
        assert_eq!(shell(&root, &kept), "oak");
        shell(&root, &format!("setfattr -x user.xdg.tags '{folder}'"));
        let gone = format!("getfattr -n user.xdg.tags '{folder}' 2>&1 || true");
        assert!(!shell(&root, &gone).contains("oak"));
        set("oak");
    }
    assert_eq!(tags_of(&fixture.service.assets()[0]), ["oak"]);
    let rapids = fixture.service.get("api/v2/rapidmodel");
    assert_eq!(tags_of(&rapids["data"][0]), ["oak"]);
    assert_eq!(shell(&root, "cat rawmodels/.assetfs/tags"), "oak\n");
    assert_eq!(shell(&root, "cat rapidmodels/.assetfs/tags"), "oak\n");
    // The service's own search: by name or by tag.
    assert_eq!(
        shell(&root, "ls rawmodels/.assetfs/search/oak"),
        "oak chair\npine\n"
    );
    let found = shell(&root, "ls -d rapidmodels/.assetfs/search/oak/*/");
    assert!(
        found.contains(rapid.trim_start_matches("rapidmodels/")),
        "{found}"
    );
    shell(
        &root,
        "cat 'rawmodels/.assetfs/search/oak/pine/pine.glb' >/dev/null",
    );
}

#[test]
fn records_scale_and_conversions_of_an_asset_are_files_and_commands() {
    needs_fuse!();
    let fixture = Fixture::new();
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    let asset = fixture.only_asset();
    let detail = json_of(&fixture.path("rawmodels/cube/.assetfs/detail.json"));
    assert_eq!(detail["id"], asset["id"]);
    assert_eq!(
        shell(&root, "cat rawmodels/cube/.assetfs/status"),
        "complete\n"
    );
    run(Command::new(ASSETFS)
        .arg("scale")
        .arg(fixture.path("rawmodels/cube"))
        .arg("0.01"));
    let record = fixture
        .service
        .get(&format!("api/v2/rawmodel/{}", asset["id"]));
    assert_eq!(record["data"]["scale_factor"], "0.01");

    assert!(!exists(fixture.path("rawmodels/cube/converted")));
    run(Command::new(ASSETFS)
        .arg("convert")
        .arg(fixture.path("rawmodels/cube"))
        .args(["obj", "stl"]));
    wait_until("the conversions are there", || {
        let listed = shell(&root, "ls rawmodels/cube/converted 2>/dev/null || true");
        listed.contains(".obj") && listed.contains(".stl")
    });
    shell(&root, "cat rawmodels/cube/converted/* | wc -c");
    let formats = json_of(&fixture.path("rawmodels/cube/.assetfs/formats.json"));
    assert_eq!(formats[0]["status"], "finished", "{formats}");
    // A glb has nothing in it that materials would be made of.
    assert!(!exists(fixture.path("rawmodels/cube/pbr")));

    let points = shell(&root, "cat account/points");
    assert!(points.trim().parse::<u64>().unwrap() > 0);
    let left: u64 = shell(&root, "cat account/storage_left")
        .trim()
        .parse()
        .unwrap();
    let free = shell(
        &root,
        "df --block-size=1 --output=used,avail,size . | tail -1",
    );
    let free: Vec<u64> = free
        .split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect();
    assert!(
        free[1] <= left && free[2] >= left - 4096,
        "{free:?} of {left}"
    );
}

#[test]
fn a_rapid_model_is_reports_and_archives_and_is_deleted_by_rm() {
    needs_fuse!();
    let fixture = Fixture::new();
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    let rapid = optimized(&fixture, "cube");
    assert_eq!(
        shell(&root, &format!("ls '{rapid}/qc'")),
        "glb.json\nusdz.json\n"
    );
    assert_eq!(
        json_of(&fixture.path(&format!("{rapid}/qc/glb.json")))["format"],
        "glb"
    );
    let exports = shell(&root, &format!("cat '{rapid}/.assetfs/exports.json'"));
    assert!(
        exports.contains("cube.glb") && exports.contains("cube.usdz"),
        "{exports}"
    );
    shell(
        &root,
        &format!("unzip -l '{rapid}/.assetfs/preset.zip' | grep -q api.json"),
    );
    let source = fs::read_link(fixture.path(&format!("{rapid}/.assetfs/source"))).unwrap();
    assert!(source.ends_with("rawmodels/cube"), "{}", source.display());
    let made = shell(&root, "ls rawmodels/cube/rapidmodels");
    assert_eq!(made.trim(), rapid.trim_start_matches("rapidmodels/"));
    shell(&root, &format!("rm -r '{rapid}'"));
    assert_eq!(total(&fixture, "api/v2/rapidmodel"), 0);
    assert_eq!(shell(&root, "ls rapidmodels"), "");
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
}

#[test]
fn views_of_a_model_and_of_its_result_are_pictures_to_copy() {
    needs_fuse!();
    let fixture = Fixture::with_pictures();
    add_triangle(&fixture, "cube");
    let rapid = optimized(&fixture, "cube");
    for (folder, at_least) in [("rawmodels/cube".to_owned(), 6), (rapid, 12)] {
        let out = fixture.scratch.path().join(folder.replace('/', "-"));
        shell(
            &fixture.root(),
            &format!("cp -r '{folder}/renders' '{}'", out.display()),
        );
        let views: Vec<_> = fs::read_dir(&out)
            .unwrap()
            .map(|it| it.unwrap().path())
            .collect();
        assert!(views.len() >= at_least, "{folder}: {views:?}");
        for view in views {
            image::open(&view).unwrap_or_else(|error| panic!("{}: {error}", view.display()));
        }
        assert!(exists(
            fixture.path(&format!("{folder}/analysis/thumb.jpg"))
        ));
    }
}

#[test]
fn a_preset_lives_as_a_file_and_travels_as_a_zip() {
    needs_fuse!();
    let fixture = Fixture::new();
    let root = fixture.root();
    let id_of = |name: &str| {
        let presets = fixture.service.get("api/v2/preset");
        let presets = presets.get("data").unwrap_or(&presets);
        let presets = presets.as_array().unwrap().iter();
        presets
            .filter(|it| it["name"] == name)
            .map(|it| it["id"].as_u64().unwrap())
            .next()
    };
    drop_text(&fixture, "presets/web.json", HALF);
    let id = id_of("web");
    assert!(id.is_some());
    drop_text(&fixture, "presets/web.json", &HALF.replace("50", "25"));
    assert_eq!(id_of("web"), id, "the same preset");
    assert!(shell(&root, "cat presets/web.json").contains("25"));
    shell(&root, "mv presets/web.json presets/shop.json");
    assert_eq!((id_of("web"), id_of("shop")), (None, id));
    for kind in ["bundle", "cli"] {
        assert_eq!(
            shell(&root, &format!("ls presets/.assetfs/{kind}")),
            "shop.zip\n"
        );
        shell(
            &root,
            &format!("unzip -l presets/.assetfs/{kind}/shop.zip | grep -q rpdx"),
        );
    }
    assert!(json_of(&fixture.path("presets/.assetfs/categories.json")).is_array());
    let factory = shell(&root, "ls presets/factory | wc -l");
    assert!(factory.trim().parse::<u64>().unwrap() >= 3, "{factory}");
    let refused = shell(
        &root,
        "rm -f 'presets/factory/Web Viewer.json' 2>&1 || true",
    );
    assert!(
        refused.contains("not permitted") || refused.contains("Read-only"),
        "{refused}"
    );
    shell(&root, "rm presets/shop.json");
    assert_eq!(id_of("shop"), None);
    assert_eq!(shell(&root, "ls presets"), "factory\n");
}

#[test]
fn embeds_are_made_of_assets_and_rapid_models_and_removed_by_rm() {
    needs_fuse!();
    let fixture = Fixture::new();
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    let rapid = optimized(&fixture, "cube");
    drop_text(&fixture, "rawmodels/cube/embeds/source.json", "{}");
    drop_text(
        &fixture,
        &format!("{rapid}/embeds/result.json"),
        r#"{"name":"Shown"}"#,
    );
    fixture.wait("rawmodels/cube/embeds/source.json");
    fixture.wait(&format!("{rapid}/embeds/result.json"));
    assert_eq!(shell(&root, "ls embeds"), "Shown.html\nsource.html\n");
    let record = json_of(&fixture.path("embeds/.assetfs/Shown.json"));
    let url = record["url"].as_str().unwrap();
    assert!(shell(&root, "cat embeds/Shown.html").contains(url));
    let page = shell(&root, &format!("curl -sSf '{url}'"));
    assert!(page.contains("<title>Shown</title>"), "{page}");
    shell(&root, "rm embeds/Shown.html embeds/source.html");
    assert_eq!(total(&fixture, "api/v2/embeds"), 0);
    assert_eq!(shell(&root, "ls embeds"), "");
}

#[test]
fn a_text_in_jobs_optimizes_several_models_and_running_ones_are_listed() {
    needs_fuse!();
    let fixture = Fixture::new();
    let root = fixture.root();
    fixture.add_chair();
    add_triangle(&fixture, "cube");
    let many: Vec<String> = ["rawmodels/chair", "rawmodels/cube"]
        .iter()
        .map(|model| format!(r#"{{"model":"{model}","config":{HALF}}}"#))
        .collect();
    drop_text(
        &fixture,
        "jobs/all.json",
        &format!(r#"{{"optimizations":[{}]}}"#, many.join(",")),
    );
    // One worker: while the first runs the second waits, and both are listed.
    wait_until("a job is listed", || {
        let links = shell(&root, "find jobs -type l | wc -l");
        links.trim() != "0" || shell(&root, "cat jobs/all.status").trim() == "done"
    });
    fixture.wait("jobs/all.json");
    assert_eq!(shell(&root, "cat jobs/all.status"), "done\n");
    assert_eq!(total(&fixture, "api/v2/rapidmodel"), 2);
    for model in ["chair", "cube"] {
        let made = shell(&root, &format!("ls rawmodels/{model}/rapidmodels | wc -l"));
        assert_eq!(made.trim(), "1", "{model}");
    }
}

#[test]
fn a_failed_import_is_retried_by_command() {
    needs_fuse!();
    let fixture = Fixture::new();
    let model = fixture.path("rawmodels/broken");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("broken.obj"), "v 0 0 zero\nf 1 2 3\n").unwrap();
    run(Command::new("sync").arg(&model));
    let failed = fixture.try_wait("rawmodels/broken");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    let reason = fs::read_to_string(model.join("ERROR.txt")).unwrap();
    assert!(reason.len() > 10, "{reason}");
    run(Command::new(ASSETFS).arg("retry").arg(&model));
    let failed = fixture.try_wait("rawmodels/broken");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1, "the same asset");
    assert!(fixture.why("rawmodels/broken").contains(reason.trim()));
    shell(&fixture.root(), "rm -r rawmodels/broken");
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 0);
}

#[test]
fn a_mount_registers_for_events_and_takes_that_back_when_it_ends() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&["--webhook-listen", "127.0.0.1:0"]);
    let root = fixture.root();
    let hooks = || fixture.service.get("api/v2/user/webhooks");
    wait_until("the mount is registered", || {
        hooks().to_string().contains("127.0.0.1")
    });
    wait_until("its record is shown", || {
        shell(&root, "ls account/webhooks").starts_with("127.0.0.1")
    });
    let record = shell(&root, "cat account/webhooks/*.json");
    let listed = hooks();
    let list = listed
        .as_array()
        .or_else(|| listed["data"].as_array())
        .unwrap();
    let url = list[0]["url"].as_str().unwrap();
    let secret = url.rsplit('/').next().unwrap();
    assert!(!record.contains(secret), "{record}");
    let tokens = shell(&root, "cat account/tokens/*.json");
    let token = fixture.service.token();
    assert!(
        !tokens.contains(token.split('|').nth(1).unwrap()),
        "{tokens}"
    );
    drop(MountPoint(root));
    let left = hooks().to_string();
    assert!(!left.contains("127.0.0.1"), "{left}");
}

#[test]
fn a_read_only_mount_refuses_every_change_and_can_be_taken_away() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&[]);
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    run(Command::new(ASSETFS).arg("unmount").arg(&root));
    fixture.mount(&["--read-only"]);
    for line in [
        "mkdir rawmodels/new",
        "touch rawmodels/new.glb",
        "rm -r rawmodels/cube",
        "setfattr -n user.xdg.tags -v x rawmodels/cube",
        "cp rawmodels/cube/cube.glb rawmodels/cube/optimize/x.json",
        "echo 'scale 2' > rawmodels/cube/.assetfs/ctl",
    ] {
        let refused = shell(&root, &format!("{{ {line}; }} 2>&1 && exit 1 || true"));
        assert!(
            refused.contains("Read-only file system"),
            "{line}: {refused}"
        );
    }
    for command in ["rm", "retry"] {
        let path = fixture.path("rawmodels/cube");
        let refused = Command::new(ASSETFS)
            .arg(command)
            .arg(path)
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            text(&refused.stderr).contains("mounted read-only"),
            "{}",
            text(&refused.stderr)
        );
    }
    shell(&root, "find . -type f -exec cat {} + >/dev/null");
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
    run(Command::new(ASSETFS).arg("unmount").arg(&root));
    assert!(!exists(fixture.path("rawmodels")));
}

#[test]
fn what_was_walked_through_is_walked_through_again_without_network() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&[]);
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    drop_text(&fixture, "presets/web.json", HALF);
    optimized(&fixture, "cube");
    let walk = "find . -printf '%p %s\\n' | grep -v '^./account/tokens' | sort; cat rawmodels/cube/cube.glb | md5sum";
    let before = shell(&root, walk);
    run(Command::new(ASSETFS).arg("unmount").arg(&root));
    fixture.service.stop();
    fixture.mount(&[]);
    assert_eq!(shell(&root, walk), before);
    shell(
        &root,
        "df . >/dev/null; du -s . >/dev/null; ls -lR . >/dev/null; cat account/points >/dev/null",
    );
    fixture.service.start_again();
}

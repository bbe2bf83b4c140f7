//! Base assets: tags, records, conversions, views, imports that failed.

use std::fs;
use std::process::Command;

use assetfs_engine::View;

use super::{add_triangle, json_of, optimized, tags_of, total};
use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, assetfs, exists, run, shell, text, wait_until};

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
    // A glb has no material files to convert.
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
fn views_of_a_model_and_of_its_result_are_pictures_to_copy() {
    needs_fuse!();
    let fixture = Fixture::with_pictures();
    add_triangle(&fixture, "cube");
    let rapid = optimized(&fixture, "cube");
    let turntable = fixture.path(&format!("{rapid}/analysis/turntable"));
    let steps: Vec<_> = fs::read_dir(turntable)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    assert_eq!(steps.len(), usize::from(View::TURNS));
    for step in steps {
        image::open(&step).unwrap_or_else(|error| panic!("{}: {error}", step.display()));
    }
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
    run(assetfs("retry", &model));
    let failed = fixture.try_wait("rawmodels/broken");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1, "the same asset");
    assert!(fixture.why("rawmodels/broken").contains(reason.trim()));
    shell(&fixture.root(), "rm -r rawmodels/broken");
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 0);
}

//! Results: rapid models, jobs, presets, embeds.

use std::fs;

use super::{HALF, add_triangle, drop_text, json_of, optimized, total};
use crate::needs_fuse;
use crate::support::{Fixture, shell, wait_until};

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
        let zips = shell(&root, &format!("ls presets/.assetfs/{kind}"));
        let zips: Vec<&str> = zips.lines().collect();
        assert!(zips.contains(&"shop.zip"), "{zips:?}");
        assert!(!zips.contains(&"web.zip"), "{zips:?}");
        assert!(zips.contains(&"Web Viewer.zip"), "of the factory: {zips:?}");
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
    // There is one worker: the second job waits while the first runs, and both are listed.
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

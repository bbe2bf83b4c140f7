//! The recipes that tell about what was made: the manifest of a shop, the points of a month, a model on a web page.

use std::fs;

use serde_json::Value;

use super::{MODELS, Recipe, Workplace, write};
use crate::support::{fetch, names_in, read, status_of};
use crate::{needs_fuse, needs_program};

#[test]
fn a_shop_manifest_has_each_model_with_its_file_and_viewer() {
    needs_fuse!();
    needs_program!("jq");
    let recipe = Recipe::named("Shop manifest");
    let [script] = recipe.files(["~/bin/shop-manifest"]);
    let workplace = Workplace::new();
    write(&workplace.home("bin/shop-manifest"), script);
    workplace.optimized_models();
    let manifest = || -> Vec<Value> {
        workplace.run("~/bin/shop-manifest");
        serde_json::from_slice(&read(workplace.work("shop/manifest.json"))).unwrap()
    };
    let shop = manifest();
    assert_eq!(shop.len(), MODELS);
    for item in &shop {
        let name = item["name"].as_str().unwrap();
        let file = fs::metadata(workplace.work(&format!("shop/{name}.glb"))).unwrap();
        assert_eq!(item["bytes"], file.len(), "{item}");
        assert_eq!(item["triangles"], 1, "{item}");
        assert_eq!(status_of(item["embed"].as_str().unwrap(), ""), 200);
    }
    // The embeds are those of the first run.
    assert_eq!(manifest(), shop);
    assert_eq!(names_in(&workplace.drive("embeds")).len(), MODELS);
    workplace.run("rm -r ~/assets/rawmodels/m03");
    let left = manifest();
    assert!(left.iter().all(|item| item["name"] != "m03"), "{left:?}");
    assert_eq!(left.len(), MODELS - 1);
    // A version that was replaced is not sold.
    workplace.run(
        "cp ~/assets/rawmodels/m04/*.glb m05.glb && assetfs replace --quiet m05.glb ~/assets/rawmodels/m05 && \
         assetfs run --stale --yes ~/assets && assetfs wait --quiet ~/assets",
    );
    let names = |shop: &[Value]| -> Vec<String> {
        shop.iter().map(|item| item["name"].to_string()).collect()
    };
    assert_eq!(names(&manifest()), names(&left));
}

#[test]
fn the_points_of_a_month_count_deleted_results_too() {
    needs_fuse!();
    needs_program!("jq");
    let recipe = Recipe::named("Points of a month");
    let [commands] = recipe.commands();
    let workplace = Workplace::new();
    workplace.optimized_models();
    assert_eq!(workplace.run(commands).trim(), MODELS.to_string());
    workplace.run("rm -r ~/assets/rapidmodels/m03");
    assert_eq!(workplace.totals(), (MODELS, MODELS - 1));
    assert_eq!(workplace.run(commands).trim(), MODELS.to_string());
    let table = String::from_utf8(read(workplace.work("points.csv"))).unwrap();
    assert_eq!(table.lines().count(), MODELS);
    assert!(table.contains(r#","m03","web",1"#), "{table}");
}

#[test]
fn an_embed_is_shared_and_taken_back() {
    needs_fuse!();
    needs_program!("jq");
    let recipe = Recipe::named("Sharing a model on a web page");
    let [share, end] = recipe.commands();
    let workplace = Workplace::new();
    workplace.optimized_chair();
    workplace.run(share);
    let line = String::from_utf8(read(workplace.work("chair.html"))).unwrap();
    let address = line.split('"').nth(1).unwrap();
    assert!(line.starts_with("<iframe src=\"http"), "{line}");
    assert!(!fetch(address).is_empty());
    workplace.run(end);
    assert_eq!(status_of(address, ""), 404);
    assert!(names_in(&workplace.drive("embeds")).is_empty());
}

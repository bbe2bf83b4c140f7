//! Sample models of many kinds, copied by common tools: each is one asset with exactly its files, is optimized with
//! three factory presets, and public validators accept the results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Fixture, assert_same_files, file_names, read, run, sample, shell};
use crate::validators::assert_valid;
use crate::{needs_fuse, needs_program};

/// Presets whose results are a glb, a glb with a usdz, and a glb with a quarter of the faces.
const PRESETS: [&str; 3] = ["Web Viewer Light", "Mobile AR", "A Quarter of the Faces"];

/// Copies the three presets into a model and checks each result; returns the GLBs.
fn optimize_and_judge(fixture: &Fixture, model: &str) -> BTreeMap<&'static str, Vec<u8>> {
    let optimize = fixture.path("rawmodels").join(model).join("optimize");
    for preset in PRESETS {
        let name = format!("{preset}.json");
        run(Command::new("cp")
            .arg(fixture.path("presets/factory").join(&name))
            .arg(optimize.join(&name)));
    }
    let mut results = BTreeMap::new();
    for preset in PRESETS {
        fixture.wait(&format!("rawmodels/{model}/optimize/{preset}.json"));
        let out = fixture.scratch.path().join("out").join(preset);
        fs::create_dir_all(&out).unwrap();
        let link = optimize.join(preset);
        for name in file_names(&link) {
            fs::write(out.join(&name), read(link.join(&name))).unwrap();
        }
        assert_valid(&out);
        let glb = file_names(&out)
            .into_iter()
            .find(|name| name.ends_with(".glb"))
            .unwrap_or_else(|| {
                panic!(
                    "{preset} gave no glb: {:?}\n{}",
                    file_names(&out),
                    fixture.log_tail()
                )
            });
        results.insert(preset, read(out.join(glb)));
        if preset == "Mobile AR" {
            let usdz = file_names(&out).iter().any(|name| name.ends_with(".usdz"));
            assert!(usdz, "{:?}", file_names(&out));
        }
    }
    assert_eq!(
        fixture.service.get("api/v2/rapidmodel")["meta"]["total"],
        PRESETS.len(),
        "each preset is paid once"
    );
    results
}

/// Waits for the only asset, which must have this name and exactly the files of the source folder.
fn is_the_one_asset(fixture: &Fixture, name: &str, source: &Path) {
    fixture.wait(&format!("rawmodels/{name}"));
    let asset = fixture.only_asset();
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["name"], name);
    assert_same_files(source, &fixture.path("rawmodels").join(name));
}

/// Copies one loose file, waits, and checks that it became an asset of that name.
fn a_loose_file_becomes(fixture: &Fixture, file: &Path, asset_name: &str, copy: &[&str]) {
    let file_name = file.file_name().expect("a name");
    run(Command::new(copy[0])
        .args(&copy[1..])
        .arg(file)
        .arg(fixture.path("rawmodels").join(file_name)));
    fixture.wait(&format!("rawmodels/{}", file_name.display()));
    assert_eq!(fixture.only_asset()["name"], asset_name);
    let shown = fixture.path("rawmodels").join(asset_name).join(file_name);
    assert!(read(shown) == read(file), "the same bytes");
}

/// The JSON of a GLB.
fn json_of(glb: &[u8]) -> serde_json::Value {
    let len = u32::from_le_bytes(glb[12..16].try_into().expect("four bytes")) as usize;
    serde_json::from_slice(&glb[20..20 + len]).expect("a JSON chunk")
}

#[test]
fn an_obj_whose_texture_has_a_space_in_its_name_comes_in_by_rsync() {
    needs_fuse!();
    needs_program!("rsync");
    let Some(source) = sample("06-fuze-obj") else {
        return;
    };
    let fixture = Fixture::new();
    run(Command::new("rsync")
        .arg("-a")
        .arg(format!("{}/", source.display()))
        .arg(fixture.path("rawmodels/fuze")));
    is_the_one_asset(&fixture, "fuze", &source);
    for glb in optimize_and_judge(&fixture, "fuze").values() {
        let images = json_of(glb)["images"].as_array().map_or(0, Vec::len);
        assert_eq!(images, 1, "the texture is found");
    }
}

#[test]
fn a_binary_stl_comes_in_as_a_loose_file() {
    needs_fuse!();
    let Some(part) = sample("07-featuretype.STL") else {
        return;
    };
    let fixture = Fixture::new();
    a_loose_file_becomes(&fixture, &part, "07-featuretype", &["cp"]);
    optimize_and_judge(&fixture, "07-featuretype");
}

#[test]
fn a_zip_with_junk_inside_comes_in_as_a_loose_file() {
    needs_fuse!();
    let Some(zip) = sample("08-spot.zip") else {
        return;
    };
    let fixture = Fixture::new();
    fixture.copy_in(&zip, "rawmodels/spot.zip");
    fixture.wait("rawmodels/spot.zip");
    assert_eq!(fixture.only_asset()["name"], "spot");
    optimize_and_judge(&fixture, "spot");
}

#[test]
fn an_unpacked_zip_with_junk_inside_sends_the_model_alone() {
    needs_fuse!();
    needs_program!("unzip");
    let Some(zip) = sample("08-spot.zip") else {
        return;
    };
    let fixture = Fixture::new();
    run(Command::new("unzip")
        .args(["-q"])
        .arg(&zip)
        .arg("-d")
        .arg(fixture.path("rawmodels")));
    fixture.wait("rawmodels/spot");
    let asset = fixture.only_asset();
    assert_eq!(asset["name"], "spot");
    let names = fixture.uploaded_names(&asset);
    assert!(!names.is_empty());
    assert!(names.iter().all(|name| !name.contains("._")), "{names:?}");
    optimize_and_judge(&fixture, "spot");
}

#[test]
fn a_glb_with_skin_and_animations_comes_in_by_gio_copy() {
    needs_fuse!();
    needs_program!("gio");
    let Some(fox) = sample("04-fox-animated.glb") else {
        return;
    };
    let fixture = Fixture::new();
    a_loose_file_becomes(&fixture, &fox, "04-fox-animated", &["gio", "copy"]);
    let source = json_of(&read(&fox));
    for (preset, glb) in optimize_and_judge(&fixture, "04-fox-animated") {
        let result = json_of(&glb);
        for key in ["animations", "skins"] {
            let count = |json: &serde_json::Value| json[key].as_array().map_or(0, Vec::len);
            assert_eq!(count(&result), count(&source), "{preset}: {key}");
        }
    }
}

#[test]
fn morph_targets_come_in_as_a_loose_gltf_and_as_a_sparse_glb() {
    needs_fuse!();
    for (file, name) in [
        ("05-morph-stress-test.gltf", "05-morph-stress-test"),
        ("05b-sparse-morph-cube.glb", "05b-sparse-morph-cube"),
    ] {
        let Some(morphing) = sample(file) else {
            return;
        };
        let fixture = Fixture::new();
        a_loose_file_becomes(&fixture, &morphing, name, &["cp", "-p"]);
        for (preset, glb) in optimize_and_judge(&fixture, name) {
            let result = json_of(&glb);
            let primitives = result["meshes"].as_array().into_iter().flatten();
            let morphing = primitives
                .flat_map(|mesh| mesh["primitives"].as_array().into_iter().flatten())
                .filter(|primitive| primitive.get("targets").is_some())
                .count();
            assert!(morphing > 0, "{preset} keeps the morph targets of {file}");
        }
    }
}

#[test]
fn unusual_names_come_in_by_cp_r() {
    needs_fuse!();
    let Some(source) = sample("13-unusual names") else {
        return;
    };
    let fixture = Fixture::new();
    fixture.copy_in(&source, "rawmodels/unusual names");
    is_the_one_asset(&fixture, "unusual names", &source);
    optimize_and_judge(&fixture, "unusual names");
}

#[test]
fn an_unpacked_flight_helmet_is_one_asset() {
    needs_fuse!();
    needs_program!("unzip");
    let (Some(zip), Some(source)) = (sample("15-flight-helmet.zip"), sample("02-flight-helmet"))
    else {
        return;
    };
    let fixture = Fixture::new();
    shell(
        &fixture.path("rawmodels"),
        &format!("unzip -q '{}'", zip.display()),
    );
    is_the_one_asset(&fixture, "02-flight-helmet", &source);
}

#[test]
fn a_zipped_flight_helmet_is_one_asset_whose_results_are_valid() {
    needs_fuse!();
    let Some(zip) = sample("15-flight-helmet.zip") else {
        return;
    };
    let fixture = Fixture::new();
    fixture.copy_in(&zip, "rawmodels/helmet.zip");
    fixture.wait("rawmodels/helmet.zip");
    assert_eq!(fixture.only_asset()["name"], "helmet");
    optimize_and_judge(&fixture, "helmet");
}

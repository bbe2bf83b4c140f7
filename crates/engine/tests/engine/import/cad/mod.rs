//! CAD files: parts, names, colours and sizes arrive; the number of triangles follows the settings. `bracket.step` is a
//! plate with a hole and two pins, `pin.igs` and `pin.brep` are one pin, in millimetres. `assembly.step` has one part, which is in
//! another file, and `curve.brep` a triangle and a line. `note.igs` is the pin with a text beside it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assetfs_engine::import::{ImportOptions, import, import_as};
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::Tessellation;

use crate::log_lines::LogLines as _;
use crate::samples::samples;
use crate::skip::has_program_or_skips;

const READER: &str = "assetfs-cad";

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/import/cad")
}

fn read(file: &str, tessellation: Tessellation) -> Scene {
    let options = ImportOptions {
        tessellation,
        ..ImportOptions::default()
    };
    let imported = import_as(&files(), &[file.to_owned()], options).expect(file);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    imported.scene
}

#[test]
fn an_assembly_keeps_its_parts_names_colours_and_size() {
    if !has_program_or_skips(READER) {
        return;
    }
    let scene = read("bracket.step", Tessellation::Medium);
    let names: Vec<&str> = scene
        .list("nodes")
        .iter()
        .filter_map(|node| node["name"].as_str())
        .collect();
    assert_eq!(names, ["bracket", "plate", "pin", "pin"]);
    let colours = scene.list("materials").iter().map(|material| {
        let factor = &material["pbrMetallicRoughness"]["baseColorFactor"];
        (0..3)
            .map(|at| factor[at].as_f64().unwrap())
            .collect::<Vec<_>>()
    });
    let colours: Vec<_> = colours.collect();
    assert_eq!(colours.len(), 2);
    for material in scene.list("materials") {
        assert_eq!(
            material["pbrMetallicRoughness"]["metallicFactor"], 0,
            "{material}"
        );
    }
    // Strong red and strong blue.
    assert!(colours[0][0] > 0.5 && colours[0][2] < 0.1, "{colours:?}");
    assert!(colours[1][2] > 0.5 && colours[1][0] < 0.1, "{colours:?}");
    // 100 × 60 × 10 mm lying flat, with pins of 30 mm on top: y is up, and the unit is the metre.
    let bounds = scene.bounds().unwrap();
    let size = bounds.max - bounds.min;
    assert!(
        (size - glam::Vec3::new(0.1, 0.04, 0.06)).length() < 1e-4,
        "{size}"
    );
}

#[test]
fn finer_settings_make_more_triangles() {
    if !has_program_or_skips(READER) {
        return;
    }
    let counts = [
        Tessellation::Coarse,
        Tessellation::Medium,
        Tessellation::Fine,
    ]
    .map(|tessellation| read("bracket.step", tessellation).drawn_triangles());
    assert!(counts.is_sorted_by(|a, b| a < b), "{counts:?}");
}

#[test]
fn iges_and_brep_are_read() {
    if !has_program_or_skips(READER) {
        return;
    }
    for file in ["pin.igs", "pin.brep"] {
        let scene = read(file, Tessellation::Fine);
        let finish = &scene.list("materials")[0]["pbrMetallicRoughness"];
        assert_eq!(finish["metallicFactor"], 0, "{file}");
        let bounds = scene.bounds().expect(file);
        let size = bounds.max - bounds.min;
        assert!(
            (size - glam::Vec3::new(0.008, 0.03, 0.008)).length() < 1e-4,
            "{file}: {size}"
        );
    }
}

/// What drawings have beside the shapes, as entities of STEP; `#34` is the shape of a product.
const REMARKS: &str = "#9001=SHAPE_ASPECT('','',#34,.F.);
#9002=DIMENSIONAL_SIZE(#9001,'diameter');
#9003=DIMENSIONAL_LOCATION('linear distance','',#9001,#9001);
#9004=FLATNESS_TOLERANCE('','',$,#9001);
#9005=ANNOTATION_TEXT_OCCURRENCE('note',(),$);
";

#[test]
fn measures_and_notes_are_named_as_not_read() {
    if !has_program_or_skips(READER) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let step = std::fs::read_to_string(files().join("bracket.step")).unwrap();
    let end = step.rfind("ENDSEC;").unwrap();
    let step = [&step[..end], REMARKS, &step[end..]].concat();
    std::fs::write(dir.path().join("bracket.step"), step).unwrap();
    std::fs::copy(files().join("note.igs"), dir.path().join("note.igs")).unwrap();
    let warnings = |file: &str| {
        import(dir.path(), &[file.to_owned()])
            .unwrap()
            .warnings
            .lines()
    };
    assert_eq!(
        warnings("bracket.step"),
        [
            "bracket.step: 3 measures and tolerances are not read [not-read]",
            "bracket.step: 1 note beside the model is not read [not-read]"
        ]
    );
    assert_eq!(
        warnings("note.igs"),
        ["note.igs: 1 note beside the model is not read [not-read]"]
    );
}

#[test]
fn other_files_that_a_step_assembly_names_are_not_read() {
    if !has_program_or_skips(READER) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let other = files().join("bracket.step");
    let text = std::fs::read_to_string(files().join("assembly.step")).unwrap();
    let text = text.replace("'part.step'", &format!("'{}'", other.display()));
    std::fs::write(dir.path().join("assembly.step"), text).unwrap();
    let error = import(dir.path(), &["assembly.step".to_owned()]).unwrap_err();
    let expected = format!(
        "assembly.step: it has no surfaces, so there is nothing to show; it names other files, which are not read: \"{}\"",
        other.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn each_solid_of_a_brep_is_a_part() {
    if !has_program_or_skips(READER) {
        return;
    }
    // A compound of a box, and of a compound of two more.
    let imported = import(&files(), &["solids.brep".to_owned()]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 36);
    let nodes = imported.scene.list("nodes");
    let drawn = nodes.iter().filter(|node| node["mesh"].is_number());
    let names: Vec<&str> = drawn.filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        names.iter().all(|name| name.starts_with("Part ")),
        "{names:?}"
    );
}

#[test]
fn curves_without_surfaces_are_a_warning() {
    if !has_program_or_skips(READER) {
        return;
    }
    let imported = import(&files(), &["curve.brep".to_owned()]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 1);
    assert_eq!(
        imported.warnings.lines(),
        ["curve.brep: 1 curve that belongs to no surface is not read [not-read]"]
    );
}

#[test]
fn damaged_cad_files_are_refused_with_a_reason() {
    if !has_program_or_skips(READER) {
        return;
    }
    let whole = std::fs::read(files().join("bracket.step")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (file, bytes) in [
        ("empty.step", &b""[..]),
        ("text.step", b"ISO-10303-21; nothing else"),
        ("cut.step", &whole[..whole.len() / 3]),
        ("other.igs", &whole),
        (
            "other.brep",
            b"CASCADE Topology V3, (c) Open Cascade\nLocations 99999999\n",
        ),
    ] {
        std::fs::write(dir.path().join(file), bytes).unwrap();
        let error = import(dir.path(), &[file.to_owned()])
            .expect_err(file)
            .to_string();
        assert!(
            error.starts_with(file) && error.len() > file.len() + 15,
            "{error}"
        );
    }
}

#[test]
fn a_cad_file_that_is_cut_off_is_refused_rather_than_read_in_part() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["bracket.step", "pin.igs", "pin.brep"] {
        let whole = std::fs::read(files().join(file)).unwrap();
        for share in [40, 70, 95] {
            std::fs::write(dir.path().join(file), &whole[..whole.len() * share / 100]).unwrap();
            let error = import(dir.path(), &[file.to_owned()]).unwrap_err();
            let start = format!("{file}: it is cut off");
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }
}

#[test]
fn the_sample_of_cad_has_its_surfaces() {
    let Some(samples) = samples() else { return };
    if !has_program_or_skips(READER) {
        return;
    }
    let file = "12-featuretype.STEP".to_owned();
    let options = ImportOptions {
        tessellation: Tessellation::Fine,
        ..ImportOptions::default()
    };
    let imported = import_as(&samples, &[file], options).unwrap();
    assert_eq!(imported.format, "step");
    assert!(imported.scene.drawn_triangles() > 10_000);
    let size = imported
        .scene
        .bounds()
        .map(|bounds| bounds.max - bounds.min);
    assert!(
        size.is_some_and(|size| (size.x - 0.127).abs() < 1e-4),
        "{size:?}"
    );
}

#[test]
fn the_reader_ends_with_its_caller() {
    if !has_program_or_skips(READER) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // Open CASCADE works on these numbers without end.
    let endless = "DBRep_DrawableShape\n\nCASCADE Topology V1, (c) Matra-Datavision\nLocations 0\nCurve2ds -1\nCurves 4000000000\n";
    std::fs::write(dir.path().join("part.brep"), endless).unwrap();
    let mut caller = Command::new("sh")
        .args([
            "-c",
            "assetfs-cad part.brep out.glb 0.001 12 & echo $!; wait",
        ])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(caller.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let reader = Path::new("/proc").join(line.trim()).join("cmdline");
    let is_reading =
        || std::fs::read_to_string(&reader).is_ok_and(|words| words.starts_with(READER));
    assert!(soon(is_reading));
    // It asks for the signal before it reads.
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_reading(), "the file is read without end");
    caller.kill().unwrap();
    caller.wait().unwrap();
    assert!(soon(|| !is_reading()), "the reader goes on alone");
}

/// Whether a condition comes true within ten seconds.
fn soon(is_so: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_so()
    })
}

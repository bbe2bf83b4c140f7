//! `assetfs thumbnail` on local files: pictures for file managers, of anything that somebody may have downloaded.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use assetfs_formats::{Kind, MODELS};

use super::skip::has_program_or_skips;
use super::square_glb::changed_glb;
use super::support::{ASSETFS, Bench, Ran};

/// A square in a text FBX.
const SQUARE_FBX: &str = r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXHeaderVersion: 1003
	FBXVersion: 7400
}
Objects:  {
	Geometry: 1000, "Geometry::square", "Mesh" {
		Vertices: *12 {
			a: 0,0,0,1,0,0,1,0,2,0,0,2
		}
		PolygonVertexIndex: *4 {
			a: 3,2,1,-1
		}
	}
	Model: 2000, "Model::square", "Mesh" {
	}
}
Connections:  {
	C: "OO",2000,0
	C: "OO",1000,2000
}
"#;

fn thumbnail(bench: &Bench, args: &[&str]) -> Ran {
    let mut command = Command::new(ASSETFS);
    let dir = bench.path("");
    Ran(command
        .arg("thumbnail")
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap())
}

/// The number of different colours in a picture of this size.
fn colours(bench: &Bench, name: &str, size: u32) -> usize {
    let picture = image::open(bench.path(name)).unwrap().into_rgb8();
    assert_eq!((picture.width(), picture.height()), (size, size), "{name}");
    let mut colours: Vec<_> = picture.pixels().map(|pixel| pixel.0).collect();
    colours.sort_unstable();
    colours.dedup();
    colours.len()
}

#[test]
fn every_format_that_is_read_has_a_picture() {
    let bench = Bench::with_chair();
    let exports = ["glb", "gltf", "obj", "stl", "ply", "usdz"]
        .map(|format| format!(r#"{{"fileType":"{format}"}}"#))
        .join(",");
    let preset = format!(r#"{{"compressionAndExport":{{"fileExports":[{exports}]}}}}"#);
    bench.write("all.json", preset.as_bytes());
    bench
        .optimize(&["chair", "out", "--preset", "all.json", "--no-pictures"])
        .expect(0);
    bench.write("out/chair.fbx", SQUARE_FBX.as_bytes());
    // CAD files need a program of their own and have their own tests.
    let meshes = MODELS.iter().filter(|format| format.kind == Kind::Exchange);
    for format in meshes.filter(|format| format.is_read()) {
        let format = format.extension;
        let found = bench.names("out");
        let name = found
            .iter()
            .find(|name| name.ends_with(&format!(".{format}")));
        let name = name.unwrap_or_else(|| panic!("no {format} in {found:?}"));
        thumbnail(&bench, &["-s", "64", &format!("out/{name}"), "picture.png"]).expect(0);
        assert!(colours(&bench, "picture.png", 64) > 2, "{name} is drawn");
        fs::remove_file(bench.path("picture.png")).unwrap();
    }
}

#[test]
fn uris_are_read_as_file_managers_write_them() {
    let bench = Bench::new();
    bench.write("my models/ch\u{e4}ir.glb", &changed_glb(|_| {}));
    let base = bench.path("").display().to_string();
    let model = format!("file://{base}/my%20models/ch%C3%A4ir.glb");
    thumbnail(&bench, &[&model, &format!("file://{base}/a%20b.png")]).expect(0);
    assert!(colours(&bench, "a b.png", 128) > 1);
    let far = thumbnail(&bench, &["file://elsewhere/chair.glb", "x.png"]).expect(2);
    assert!(
        far.err().contains("not the URI of a file on this machine"),
        "{}",
        far.err()
    );
}

#[test]
fn what_cannot_be_drawn_has_no_picture_and_a_reason() {
    let bench = Bench::new();
    let glb = changed_glb(|_| {});
    let endless =
        changed_glb(|json| json["nodes"] = serde_json::json!([{"mesh": 0, "children": [0]}]));
    let cases: &[(&str, &[u8], &str)] = &[
        ("cut.glb", &glb[..glb.len() - 9], "truncated"),
        ("endless.glb", &endless, "endless.glb"),
        ("empty.glb", b"", "empty.glb"),
        ("noise.gltf", b"\xff\xfe\0noise", "noise.gltf"),
        (
            "noise.fbx",
            b"Kaydara FBX Binary  \0\x1a\0junk",
            "noise.fbx",
        ),
        ("noise.obj", b"\0\0\0\0", "noise.obj"),
        ("noise.stl", &[0xff; 200], "noise.stl"),
        (
            "noise.ply",
            b"ply\nformat ascii 1.0\nelement vertex 99999999999\n",
            "noise.ply",
        ),
        (
            "lost.gltf",
            br#"{"asset":{"version":"2.0"},"buffers":[{"uri":"gone.bin","byteLength":9}],
          "bufferViews":[{"buffer":0,"byteLength":9}]}"#,
            "lost.gltf",
        ),
        ("points.obj", b"v 0 0 0\nv 1 1 1\n", "points.obj"),
        ("noise.zip", b"PK\x03\x04junk", "noise.zip"),
        ("model.usdz", b"PK\x03\x04junk", "model.usdz"),
        ("noise.usda", b"#usda 1.0\ndef Mesh \"a\" {", "noise.usda"),
        (
            "noise.usdc",
            b"PXR-USDC\0\x08\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
            "noise.usdc",
        ),
        ("model.dae", b"<COLLADA/>", "not supported"),
        ("notes.txt", b"chair", "notes.txt"),
    ];
    for (name, bytes, reason) in cases {
        bench.write(name, bytes);
        let started = Instant::now();
        let ran = thumbnail(&bench, &[name, "picture.png"]).expect(1);
        assert!(started.elapsed() < Duration::from_secs(60), "{name}");
        let said = ran.err();
        assert!(said.contains(reason), "{name}: {said}");
        assert!(!said.contains("bug in the engine"), "{name}: {said}");
        assert!(!bench.path("picture.png").exists(), "{name}");
    }
    thumbnail(&bench, &["missing.glb", "picture.png"]).expect(2);
    let pipe = bench.path("pipe.glb");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    thumbnail(&bench, &["pipe.glb", "picture.png"]).expect(2);
    let folder = thumbnail(&bench, &[".", "picture.png"]).expect(1);
    assert!(
        folder
            .err()
            .contains("is not the folder of a model on a drive"),
        "{}",
        folder.err()
    );
    thumbnail(&bench, &["-s", "0", "cut.glb", "picture.png"]).expect(2);
}

#[test]
fn a_model_is_never_overwritten_by_its_own_picture() {
    let bench = Bench::new();
    let glb = changed_glb(|_| {});
    bench.write("chair.glb", &glb);
    std::os::unix::fs::symlink("chair.glb", bench.path("link.glb")).unwrap();
    for out in ["chair.glb", "./chair.glb", "link.glb"] {
        let ran = thumbnail(&bench, &["chair.glb", out]).expect(2);
        assert!(ran.err().contains("is the model itself"), "{}", ran.err());
        assert_eq!(std::fs::read(bench.path("chair.glb")).unwrap(), glb);
    }
}

#[test]
fn file_managers_are_set_up_for_one_user_and_doctor_says_so() {
    if !has_program_or_skips("update-mime-database") {
        return;
    }
    let bench = Bench::new();
    let run = |args: &[&str]| {
        let mut command = Command::new(ASSETFS);
        command.args(args).env("XDG_DATA_HOME", bench.path("data"));
        Ran(command
            .env("XDG_DATA_DIRS", bench.path("none"))
            .output()
            .unwrap())
    };
    let pictures = || {
        let found = run(&["doctor", "--json"]).out();
        let line = found.lines().find(|line| line.contains("\"Pictures\""));
        line.unwrap_or_else(|| panic!("{found}")).to_owned()
    };
    let before = pictures();
    assert!(
        before.contains("advice") && before.contains("thumbnail --setup"),
        "{before}"
    );
    run(&["thumbnail", "--setup"]).expect(0);
    let after = pictures();
    // The program under test is not below /usr, which is all that the sandbox of Nautilus has.
    let is_installed = fs::canonicalize(ASSETFS).unwrap().starts_with("/usr");
    assert_eq!(after.contains("good"), is_installed, "{after}");
    assert_eq!(after.contains("/usr/local/bin"), !is_installed, "{after}");
    let thumbnailer = bench.path("data/thumbnailers/assetfs.thumbnailer");
    let set_up = fs::read_to_string(&thumbnailer).unwrap();
    for (program, expected) in [("/usr/bin/env", "good"), ("/usr/bin/gone", "not there")] {
        fs::write(&thumbnailer, format!("TryExec={program}\n")).unwrap();
        assert!(pictures().contains(expected), "{}", pictures());
    }
    fs::write(&thumbnailer, set_up).unwrap();
    let globs = fs::read_to_string(bench.path("data/mime/globs2")).unwrap();
    assert!(globs.contains("80:model/obj:*.obj"), "{globs}");
    let thumbnailer = fs::read_to_string(bench.path("data/thumbnailers/assetfs.thumbnailer"));
    let program = fs::canonicalize(ASSETFS).unwrap();
    assert!(thumbnailer.unwrap().contains(program.to_str().unwrap()));
    // Without the program that reads the media types it fails, and the same command repeats that step.
    let mut command = Command::new(ASSETFS);
    let command = command.args(["thumbnail", "--remove-setup"]);
    let command = command.env("XDG_DATA_HOME", bench.path("data"));
    let failed = Ran(command.env("PATH", bench.path("none")).output().unwrap());
    assert!(
        failed.err().contains("then repeat this command"),
        "{}",
        failed.err()
    );
    let failed = Ran(command.output().unwrap());
    assert!(
        failed.err().contains("then repeat this command"),
        "{}",
        failed.err()
    );
    run(&["thumbnail", "--remove-setup"]).expect(0);
    assert!(!bench.path("data/thumbnailers/assetfs.thumbnailer").exists());
    assert!(pictures().contains("thumbnail --setup"), "{}", pictures());
    let globs = fs::read_to_string(bench.path("data/mime/globs2")).unwrap_or_default();
    assert!(!globs.contains("model/obj"), "{globs}");
    let again = run(&["thumbnail", "--remove-setup"]).expect(0);
    assert!(again.err().contains("Nothing is set up"), "{}", again.err());
}

//! Successful `assetfs optimize`: its files and output, and the state after an interruption.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::samples::samples;
use super::support::{ASSETFS, Bench};

#[test]
fn a_folder_becomes_files_pictures_logs_and_a_table() {
    let bench = Bench::with_chair();
    let ran = bench
        .optimize(&["chair", "out", "--preset", "real-time prop"])
        .expect(0);
    assert_eq!(
        bench.names("out"),
        ["analysis", "before-after.png", "chair.glb"]
    );
    let logs = bench.names("out/analysis");
    for name in [
        "error.log",
        "info.log",
        "metrics.json",
        "rpd_info.json",
        "thumb.jpg",
        "warning.log",
    ] {
        assert!(logs.iter().any(|log| log == name), "{name}: {logs:?}");
    }
    let picture = image::open(bench.path("out/before-after.png")).unwrap();
    assert!(
        picture.width() > picture.height(),
        "two pictures side by side"
    );
    let table = ran.out();
    for row in [
        "triangles",
        "vertices",
        "bytes",
        "materials",
        "largest texture",
        "similarity",
        "time",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert!(table.contains("out/before-after.png"), "{table}");
    let progress = ran.err();
    assert!(
        progress.contains("chair: 2% reading the model"),
        "{progress}"
    );
    assert!(!progress.contains('\u{1b}'), "no bar where nobody watches");
}

#[test]
fn json_says_all_and_quiet_says_nothing_else() {
    let bench = Bench::with_chair();
    let config = json!({
        "limits": { "faces": { "percentage": 30 } },
        "schema": "2.4",
        "compressionAndExport": { "fileExports": [
            { "fileType": "glb", "meshCompressionMethod": "meshopt" }, { "fileType": "usdz" },
        ] },
    });
    bench.write("mine.json", config.to_string().as_bytes());
    let ran = bench
        .optimize(&[
            "chair/chair.gltf",
            "out",
            "-p",
            "mine.json",
            "--json",
            "--renders",
        ])
        .expect(0);
    assert_eq!(ran.err(), "");
    let said: Value = serde_json::from_str(&ran.out()).unwrap();
    let (before, after) = (&said["before"]["triangles"], &said["after"]["triangles"]);
    assert!(after.as_u64().unwrap() * 10 <= before.as_u64().unwrap() * 3);
    let formats: Vec<&str> = said["exports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|export| export["format"].as_str().unwrap())
        .collect();
    assert_eq!(formats, ["glb", "usdz"]);
    let first = &said["exports"][0];
    assert_eq!(first["triangles"], *after, "counted again in the file");
    let score = |name: &str| first["similarity"][name].as_f64().unwrap();
    assert!(score("worst_view") <= score("average"));
    assert!(score("worst_tile") <= score("worst_view"));
    let warnings = said["warnings"].as_array().unwrap();
    let is_told = |warning: &Value| {
        let line = warning.as_str().unwrap();
        line.contains("schema is \"2.4\"") && line.ends_with(" [setting-ignored]")
    };
    assert!(warnings.iter().any(is_told), "{warnings:?}");
    let codes = said["warning_codes"].as_array().unwrap();
    assert!(codes.contains(&"setting-ignored".into()), "{codes:?}");
    let files = said["files"].as_array().unwrap();
    assert!(files.len() >= formats.len(), "{files:?}");
    for file in files {
        let path = bench.path("out").join(file.as_str().unwrap());
        assert!(path.is_file(), "{}", path.display());
    }
    assert!(
        bench
            .names("out/renders")
            .contains(&"glb-front__diff.png".to_owned())
    );
}

#[test]
fn without_pictures_there_is_no_score() {
    let bench = Bench::with_chair();
    let ran = bench
        .optimize(&[
            "chair",
            "out",
            "-p",
            "lossless clean-up",
            "--no-pictures",
            "--quiet",
        ])
        .expect(0);
    assert!(!ran.out().contains("similarity"), "{}", ran.out());
    assert_eq!(bench.names("out"), ["analysis", "chair.glb"]);
    assert_eq!(ran.err(), "");
}

#[test]
fn what_is_in_the_way_is_replaced_only_when_asked() {
    let bench = Bench::with_chair();
    bench.write("out/chair.glb", b"mine");
    bench.write("out/notes.txt", b"mine");
    let fast = [
        "chair",
        "out",
        "-p",
        "Real-Time Prop",
        "--no-pictures",
        "-q",
    ];
    let refused = bench.optimize(&fast).expect(2);
    assert!(
        refused.err().contains("already has chair.glb"),
        "{}",
        refused.err()
    );
    assert_eq!(std::fs::read(bench.path("out/chair.glb")).unwrap(), b"mine");
    assert_eq!(bench.names("out"), ["chair.glb", "notes.txt"]);
    bench
        .optimize(&[&fast[..], &["--overwrite"]].concat())
        .expect(0);
    assert!(
        std::fs::read(bench.path("out/chair.glb"))
            .unwrap()
            .starts_with(b"glTF")
    );
    assert_eq!(bench.names("out"), ["analysis", "chair.glb", "notes.txt"]);
    // Results never replace the source.
    let own = bench
        .optimize(&["chair", "chair", "-p", "Web Viewer", "--overwrite"])
        .expect(2);
    assert!(own.err().contains("folder of the source"), "{}", own.err());
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let bench = Bench::with_chair();
    for signal in ["-INT", "-TERM"] {
        let mut child = Command::new(ASSETFS)
            .args(["optimize", "chair", "a/out", "-p", "Web Viewer"])
            .current_dir(bench.path("."))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(said.next().unwrap().unwrap().contains("reading"));
        assert_eq!(
            bench.names("a/out").len(),
            1,
            "it works in a folder of its own"
        );
        let pid = child.id().to_string();
        Command::new("kill").args([signal, &pid]).status().unwrap();
        let began = Instant::now();
        let status = child.wait().unwrap();
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(status.code(), Some(1));
        let rest: Vec<String> = said.map(Result::unwrap).collect();
        assert!(
            rest.last()
                .unwrap()
                .contains("interrupted; nothing was written"),
            "{rest:?}"
        );
        assert_eq!(bench.names("a"), Vec::<String>::new());
        assert!(!bench.path("a").exists());
    }
}

/// The worker processes of a command.
fn workers_of(pid: u32) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_worker = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(1));
        parent == Some(pid.to_string().as_str())
    };
    numbers.filter(is_worker).collect()
}

#[test]
fn work_whose_worker_another_process_kills_begins_again() {
    let bench = Bench::with_chair();
    let mut child = Command::new(ASSETFS)
        .args(["optimize", "chair", "out", "-p", "Web Viewer"])
        .current_dir(bench.path("."))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().contains("reading"));
    let workers = workers_of(child.id());
    assert!(!workers.is_empty());
    for worker in workers {
        let worker = worker.to_string();
        Command::new("kill")
            .args(["-KILL", &worker])
            .status()
            .unwrap();
    }
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    let status = child.wait().unwrap();
    assert!(status.success(), "{rest:?}");
    assert!(
        rest.iter().any(|line| line.contains("begins again")),
        "{rest:?}"
    );
    assert!(bench.names("out").contains(&"chair.glb".to_owned()));
}

#[test]
fn presets_are_listed() {
    let bench = Bench::new();
    let ran = bench.optimize(&["--list-presets"]).expect(0);
    assert!(
        ran.out()
            .contains("Web Viewer Light        For pages with many models"),
        "{}",
        ran.out()
    );
    let ran = bench.optimize(&["--list-presets", "--json"]).expect(0);
    let out = ran.out();
    let presets = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let presets: Vec<Value> = presets.collect();
    assert!(presets.len() >= 10);
    assert_eq!(presets[0]["config"]["schema"], "2.5");
}

#[test]
fn names_of_files_come_through() {
    let Some(samples) = samples() else { return };
    let bench = Bench::new();
    let folder = samples.join("13-unusual names");
    for (number, name) in [
        "CubeImageUriMultipleSpaces",
        "CubeImageUriSpaces",
        "Füchs – лиса (copy) #2 & 100%",
    ]
    .into_iter()
    .enumerate()
    {
        let extension = if number == 2 { "GLB" } else { "gltf" };
        let model = folder.join(format!("{name}.{extension}"));
        let out = format!("out {number} é");
        let args = [
            model.to_str().unwrap(),
            &out,
            "-p",
            "glTF for Editing",
            "--no-pictures",
            "-q",
        ];
        bench.optimize(&args).expect(0);
        let names = bench.names(&out);
        assert!(names.contains(&format!("{name}.gltf")), "{names:?}");
        assetfs_engine::Model::open(bench.path(&out)).unwrap();
    }
}

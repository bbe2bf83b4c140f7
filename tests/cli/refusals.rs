//! Failing `assetfs optimize`: each failure has its reason and exit code, and leaves no files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::samples::samples;
use super::support::Bench;
use super::tmpfs::SmallDisk;
use super::zips;

/// The memory limit for hostile models.
const LITTLE_MEMORY: &str = "1G";

#[test]
fn wrong_use_is_reported_before_anything_is_done() {
    let bench = Bench::with_chair();
    bench.write("file", b"x");
    bench.write("bad.json", br#"{"limits": {"faces": {"count": "many"}}}"#);
    bench.write("half.json", b"{");
    for (args, reason) in [
        (
            ["nowhere.glb", "out", "-p", "Web Viewer"],
            "cannot read nowhere.glb: No such file",
        ),
        (
            ["chair", "file", "-p", "Web Viewer"],
            "OUT must be a folder; file is a file",
        ),
        (
            ["chair", "out", "-p", "Web Viever"],
            "did you mean `Web Viewer`",
        ),
        (["chair", "out", "-p", "half.json"], "half.json is not JSON"),
        (
            ["chair", "out", "-p", "missing.json"],
            "cannot read the preset missing.json",
        ),
        (
            ["chair", "out", "-p", "bad.json"],
            "limits.faces.count is \"many\"",
        ),
    ] {
        let ran = bench.optimize(&args).expect(2);
        assert!(ran.err().contains(reason), "{}", ran.err());
        assert_eq!(ran.out(), "");
        assert!(!bench.path("out").exists(), "{args:?}");
    }
    let ran = bench.optimize(&["chair", "out"]).expect(2);
    assert!(
        ran.err().contains("add --preset 'Web Viewer'"),
        "{}",
        ran.err()
    );
}

#[test]
fn what_is_no_model_is_refused_in_plain_words() {
    let bench = Bench::new();
    bench.write("part.sldprt", b"SolidWorks");
    bench.write("scene.blend", b"BLENDER");
    bench.write("notes.txt", b"hello");
    bench.write("empty.glb", b"");
    bench.write("nan.obj", b"v nan 0 0\nv 1 inf 0\nf 1 2 9\n");
    bench.write("folder/readme.md", b"hello");
    fs::create_dir(bench.path("nothing")).unwrap();
    for (input, reason) in [
        (
            "part.sldprt",
            "this format of CAD files is not supported. Export the part as STEP",
        ),
        ("scene.blend", "this format is not supported"),
        ("notes.txt", "no 3D model found"),
        ("empty.glb", "empty.glb"),
        ("nan.obj", "nan.obj"),
        ("folder", "readme.md"),
        ("nothing", "nothing contains no files"),
    ] {
        let ran = bench
            .optimize(&[input, "out", "-p", "Web Viewer", "-q"])
            .expect(1);
        assert!(ran.err().contains(reason), "{input}: {}", ran.err());
        assert!(!bench.path("out").exists(), "{input}");
    }
}

#[test]
fn broken_samples_fail_with_a_reason() {
    let Some(samples) = samples() else { return };
    let bench = Bench::new();
    let broken = fs::read_dir(samples.join("14-broken")).unwrap();
    let broken = broken.map(|entry| entry.unwrap().path());
    // The buffer of one of them is a whole file, but no model.
    for path in broken {
        let input = path.to_str().unwrap();
        let args = [
            input,
            "out",
            "-p",
            "Web Viewer",
            "-q",
            "--memory",
            LITTLE_MEMORY,
        ];
        let ran = bench.optimize(&args).expect(1);
        let sentence = ran.err();
        assert!(
            sentence.starts_with("assetfs: cannot optimize "),
            "{sentence}"
        );
        assert!(
            sentence.len() > 60 && !sentence.contains("panicked"),
            "{sentence}"
        );
        assert!(!bench.path("out").exists(), "{input}");
    }
}

#[test]
fn without_the_reader_of_cad_files_the_message_says_what_to_install() {
    let bench = Bench::new();
    bench.write("part.step", b"ISO-10303-21;\nEND-ISO-10303-21;\n");
    let args = ["part.step", "out", "-p", "Web Viewer", "-q"];
    let ran = bench
        .optimize_with(&args, &[("PATH", "/nonexistent")])
        .expect(1);
    let sentence = ran.err();
    assert!(
        sentence.contains("Install the package assetfs-cad"),
        "{sentence}"
    );
}

/// A black grey PNG.
fn blank(side: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer
        .write_image_data(&vec![0; (side * side) as usize])
        .unwrap();
    writer.finish().unwrap();
    bytes
}

#[test]
fn a_model_beyond_the_limits_ends_its_worker_and_not_the_command() {
    let bench = Bench::with_chair();
    // A small file with an image that is large when decoded.
    bench.write(
        "hungry.obj",
        b"mtllib m.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n",
    );
    bench.write("m.mtl", b"newmtl m\nmap_Kd blank.png\n");
    bench.write("blank.png", &blank(12_000));
    let hungry = [
        "hungry.obj",
        "out",
        "-p",
        "Web Viewer",
        "-q",
        "--memory",
        "300M",
    ];
    let ran = bench.optimize(&hungry).expect(1);
    assert!(
        ran.err().contains("needs more memory than its limit"),
        "{}",
        ran.err()
    );
    assert!(!bench.path("out").exists());
    let ran = bench
        .optimize(&["chair", "out", "-p", "Web Viewer", "-q", "--timeout", "1s"])
        .expect(1);
    assert!(ran.err().contains("took"), "{}", ran.err());
    assert!(!bench.path("out").exists());
}

/// A binary STL of a wavy square with `side` times `side` times two triangles.
fn wavy_square(side: u32) -> Vec<u8> {
    let mut bytes = vec![0; 80];
    bytes.extend((side * side * 2).to_le_bytes());
    let corner = |x: u32, y: u32| {
        let height = (x as f32 * 0.7).sin() * (y as f32 * 0.9).cos();
        [x as f32, y as f32, height]
    };
    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
        for corners in [[(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 1), (0, 1)]] {
            bytes.extend([0; 12]);
            for (dx, dy) in corners {
                bytes.extend(
                    corner(x + dx, y + dy)
                        .iter()
                        .flat_map(|number| number.to_le_bytes()),
                );
            }
            bytes.extend([0; 2]);
        }
    }
    bytes
}

#[test]
fn a_model_too_large_for_its_memory_is_not_called_broken() {
    let bench = Bench::with_chair();
    bench.write("wave.stl", &wavy_square(800));
    bench.write(
        "tenth.json",
        br#"{"limits": {"faces": {"percentage": 10}}}"#,
    );
    let asked = [
        "wave.stl",
        "out",
        "-p",
        "tenth.json",
        "-q",
        "--no-pictures",
        "--overwrite",
        "--memory",
    ];
    let mut failed = 0;
    for memory in ["320M", "400M", "440M"] {
        let mut limited = asked.to_vec();
        limited.push(memory);
        let ran = bench.optimize(&limited);
        if ran.code() != 0 {
            failed += 1;
            let message = ran.err();
            assert!(
                message.contains("needs more memory than its limit"),
                "{memory}: {message}"
            );
            // The command with the number of the message is what helps.
            let about = message.split("about ").nth(1).unwrap();
            let about: u64 = about.split(" MB").next().unwrap().parse().unwrap();
            assert!((450..1500).contains(&about), "{message}");
            assert!(
                message.contains("`assetfs optimize --memory` sets a higher limit"),
                "{message}"
            );
            let enough = format!("{about}M");
            let mut again = asked.to_vec();
            again.push(&enough);
            bench.optimize(&again).expect(0);
        }
    }
    assert!(failed > 0, "none of these limits is too small");
}

#[test]
fn what_may_not_be_written_or_read_is_named() {
    if rustix::process::geteuid().is_root() {
        crate::skip::skipped("this process is root");
        let bench = Bench::with_chair();
        let ran = bench
            .optimize(&["chair", "/proc/self/out", "-p", "Web Viewer", "-q"])
            .expect(1);
        assert!(
            ran.err().contains("cannot write to /proc/self/out"),
            "{}",
            ran.err()
        );
        return;
    }
    let bench = Bench::with_chair();
    fs::create_dir(bench.path("closed")).unwrap();
    fs::set_permissions(bench.path("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    let ran = bench
        .optimize(&["chair", "closed/out", "-p", "Web Viewer", "-q"])
        .expect(1);
    assert!(
        ran.err().contains("closed/out") && ran.err().contains("denied"),
        "{}",
        ran.err()
    );
    let model = bench.write("secret.glb", b"x");
    fs::set_permissions(model, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = bench
        .optimize(&["secret.glb", "out", "-p", "Web Viewer", "-q"])
        .expect(1);
    assert!(
        ran.err().contains("secret.glb") && ran.err().contains("denied"),
        "{}",
        ran.err()
    );
}

#[test]
fn a_full_disk_is_named_and_left_as_it_was() {
    let bench = Bench::with_chair();
    let small = bench.path("small");
    fs::create_dir(&small).unwrap();
    let Some(disk) = SmallDisk::mount(&small, 64 << 10) else {
        return;
    };
    let ran = bench.optimize(&[
        "chair",
        "small/out",
        "-p",
        "Web Viewer",
        "-q",
        "--no-pictures",
    ]);
    let left = bench.names("small");
    drop(disk);
    let ran = ran.expect(1);
    assert!(
        ran.err().contains("is full: make room on it"),
        "{}",
        ran.err()
    );
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn hostile_archives_are_refused_with_a_reason() {
    let bench = Bench::new();
    for archive in zips::hostile() {
        let file = format!("{}.zip", archive.name);
        bench.write(&file, &archive.bytes);
        let ran = bench
            .optimize(&[
                &file,
                "out",
                "-p",
                "Web Viewer",
                "-q",
                "--memory",
                LITTLE_MEMORY,
            ])
            .expect(1);
        assert!(ran.err().contains(archive.reason), "{file}: {}", ran.err());
        assert!(!bench.path("out").exists(), "{file}");
    }
    bench.write("good.zip", &zips::good());
    bench
        .optimize(&["good.zip", "out", "-p", "Web Viewer", "-q"])
        .expect(0);
    assert!(bench.names("out").contains(&"good.glb".to_owned()));
}

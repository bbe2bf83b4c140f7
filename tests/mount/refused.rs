//! Models and archives that cannot be imported: the reason is clear, the worker stays within its limits, and the next
//! job runs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::needs_fuse;
use crate::support::{Fixture, assetfs, read, run, sample, text};

/// Copies a file in as the only one of a model, sends it even if it looks cut off, and returns the reason why it
/// could not be imported.
fn refusal_of(fixture: &Fixture, name: &str, file: &Path) -> String {
    let folder = fixture.path("rawmodels").join(name);
    fs::create_dir(&folder).unwrap();
    let buffer = file.with_file_name("simpleTriangle.bin");
    let beside = buffer.exists().then_some(buffer);
    run(Command::new("cp").arg(file).args(beside).arg(&folder));
    run(assetfs("commit --force", &folder));
    reason_of_failure(fixture, name, name)
}

/// Copies an archive in as a loose file and returns the reason why it could not be imported.
fn refusal_of_archive(fixture: &Fixture, name: &str, zip: &Path) -> String {
    run(Command::new("cp")
        .arg(zip)
        .arg(fixture.path("rawmodels").join(format!("{name}.zip"))));
    reason_of_failure(fixture, name, &format!("{name}.zip"))
}

fn reason_of_failure(fixture: &Fixture, name: &str, copied_to: &str) -> String {
    let below = format!("rawmodels/{name}");
    let waited = fixture.try_wait(&format!("rawmodels/{copied_to}"));
    assert_eq!(
        waited.status.code(),
        Some(1),
        "{name}: {}",
        text(&waited.stderr)
    );
    let asset = fixture
        .service
        .assets()
        .into_iter()
        .find(|asset| asset["name"] == name)
        .unwrap_or_else(|| panic!("{name} is on the service"));
    let state = asset["upload_status"].as_str().expect("a state");
    assert!(state.starts_with("Importing Failed"), "{name}: {state}");
    let status = text(&read(fixture.path(&below).join(".assetfs/status")));
    assert!(status.starts_with("failed: "), "{name}: {status}");
    let reason = text(&read(fixture.path(&below).join("ERROR.txt")));
    assert!(
        fixture.why(&below).contains(reason.trim()),
        "why repeats ERROR.txt: {reason}"
    );
    reason
}

/// Asserts that a reason contains each of these words, in upper or lower case.
fn says(reason: &str, words: &[&str]) {
    let folded = reason.to_lowercase();
    for word in words {
        assert!(
            folded.contains(&word.to_lowercase()),
            "{word:?} is not in: {reason}"
        );
    }
}

#[test]
fn broken_models_fail_with_a_reason_and_the_next_job_runs() {
    needs_fuse!();
    let fixture = Fixture::new();
    for (name, file, words) in [
        (
            "range",
            "14-broken/integer-out-of-bounds.gltf",
            &["byteLength", "not a whole number"][..],
        ),
        (
            "buffer",
            "14-broken/invalid-buffer-index.gltf",
            &["refers to buffer 1"][..],
        ),
        (
            "primitive",
            "14-broken/invalid-primitive-indices.gltf",
            &[][..],
        ),
        (
            "cut",
            "14-broken/truncated-barrel.glb",
            &["truncated", "2,890,908", "1,800,000"][..],
        ),
    ] {
        let Some(file) = sample(file) else {
            return;
        };
        says(&refusal_of(&fixture, name, &file), words);
    }
    fixture.add_chair();
}

/// An archive of one small model and what `add` adds to it.
fn archive(path: &Path, add: impl FnOnce(&mut ZipWriter<fs::File>)) {
    let mut zip = ZipWriter::new(fs::File::create(path).unwrap());
    let options = SimpleFileOptions::default();
    zip.start_file("model.obj", options).unwrap();
    zip.write_all(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .unwrap();
    add(&mut zip);
    zip.finish().unwrap();
}

#[test]
fn hostile_archives_are_refused_with_a_reason_and_the_next_job_runs() {
    needs_fuse!();
    let fixture = Fixture::new();
    let zip = fixture.scratch.path().join("hostile.zip");
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);

    archive(&zip, |zip| {
        zip.start_file("../../outside.obj", deflated).unwrap();
        zip.write_all(b"v 0 0 0\n").unwrap();
    });
    says(
        &refusal_of_archive(&fixture, "parents", &zip),
        &["../../outside.obj"],
    );

    archive(&zip, |zip| {
        zip.start_file("/etc/outside.obj", deflated).unwrap();
        zip.write_all(b"v 0 0 0\n").unwrap();
    });
    says(
        &refusal_of_archive(&fixture, "absolute", &zip),
        &["/etc/outside.obj"],
    );

    // Zeros compress to about a thousandth, and zip bombs compress them twice. The limit counts the extracted bytes.
    archive(&zip, |zip| {
        zip.start_file("zeros.bin", deflated.compression_level(Some(9)))
            .unwrap();
        let zeros = vec![0; 1 << 20];
        for _ in 0..256 {
            zip.write_all(&zeros).unwrap();
        }
    });
    says(
        &refusal_of_archive(&fixture, "bomb", &zip),
        &["bomb.zip", "times its size"],
    );

    archive(&zip, |zip| {
        for number in 0..100_000 {
            zip.start_file(format!("{number}.txt"), SimpleFileOptions::default())
                .unwrap();
        }
    });
    says(&refusal_of_archive(&fixture, "crowd", &zip), &["entries"]);

    fixture.add_chair();
}

//! Models with missing files, which fail and are completed later; jobs for models that are not uploaded yet; and
//! deletions and copies at inconvenient times.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::models::{model_with_buffer, triangle_glb};
use crate::needs_fuse;
use crate::support::{
    Fixture, assetfs, exists, file_names, read, run, small_chair, text, wait_until,
};

#[test]
fn a_gltf_without_its_buffer_is_never_sent_by_itself_and_goes_when_it_is_there() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("large");
    model_with_buffer(&source, 5_000);
    let target = fixture.path("rawmodels/large");
    fs::create_dir(&target).unwrap();
    fs::copy(source.join("large.gltf"), target.join("large.gltf")).unwrap();
    wait_until("it says what is missing", || {
        fixture.why("rawmodels/large").contains("large.bin")
    });
    let why = fixture.why("rawmodels/large");
    assert!(why.contains("once they are copied in"), "{why}");
    assert!(why.contains("assetfs commit --force"), "{why}");
    let committed = assetfs("commit", &target).output().unwrap();
    assert!(!committed.status.success());
    // Thirty times the settle time is nine seconds here.
    std::thread::sleep(Duration::from_secs(11));
    assert!(fixture.service.assets().is_empty());
    fs::copy(source.join("large.bin"), target.join("large.bin")).unwrap();
    fixture.wait("rawmodels/large");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
}

#[test]
fn a_model_without_textures_says_what_is_missing_and_is_sent_and_imported_without_them() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    fs::create_dir(&target).unwrap();
    let is_picture = |name: &String| name.ends_with(".png") || name.ends_with(".jpg");
    let (pictures, others): (Vec<_>, Vec<_>) =
        file_names(&source).into_iter().partition(is_picture);
    assert!(!pictures.is_empty());
    for name in &others {
        fs::copy(source.join(name), target.join(name)).unwrap();
    }
    wait_until("it says what is missing", || {
        let why = fixture.why("rawmodels/chair");
        pictures.iter().all(|name| why.contains(name.as_str()))
            && why.contains("it is sent without them in")
    });
    wait_until("it is sent without", || {
        let assets = fixture.service.assets();
        assets.len() == 1 && assets[0]["upload_status"] != "incomplete"
    });
    fixture.wait("rawmodels/chair");
    assert_eq!(fixture.uploaded_names(&fixture.only_asset()), others);
    let warnings = text(&read(target.join("analysis/warning.log")));
    for name in &pictures {
        assert!(warnings.contains(name.as_str()), "{name}: {warnings}");
    }
}

#[test]
fn a_model_that_failed_for_a_missing_file_is_completed_and_sent_again() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = fixture.scratch.path().join("large");
    model_with_buffer(&source, 5_000);
    let target = fixture.path("rawmodels/large");
    fs::create_dir(&target).unwrap();
    fs::copy(source.join("large.gltf"), target.join("large.gltf")).unwrap();
    run(assetfs("commit --force", &target));
    assert!(!fixture.try_wait("rawmodels/large").status.success());
    let failed = fixture.only_asset()["id"].clone();
    let why = fixture.why("rawmodels/large");
    assert!(why.contains("if a file is missing, copy it in"), "{why}");
    fs::copy(source.join("large.bin"), target.join("large.bin")).unwrap();
    fixture.wait("rawmodels/large");
    let asset = fixture.only_asset();
    assert_ne!(asset["id"], failed, "a new upload");
    assert_eq!(fixture.uploaded_names(&asset), file_names(&source));
    fixture.kill_mount();
    fixture.mount(&[]);
    assert_eq!(fs::read_dir(fixture.path("rawmodels")).unwrap().count(), 1);
}

#[test]
fn a_loose_file_is_reachable_under_its_models_name_at_once() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    fs::write(fixture.path("rawmodels/one.glb"), triangle_glb("one")).unwrap();
    assert!(
        fs::metadata(fixture.path("rawmodels/one"))
            .unwrap()
            .is_dir()
    );
    assert_eq!(
        read(fixture.path("rawmodels/one/one.glb")),
        triangle_glb("one")
    );
    let names: Vec<_> = fs::read_dir(fixture.path("rawmodels"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["one.glb"], "it is listed once");
    assert!(!read(fixture.path("rawmodels/one/.assetfs/status")).is_empty());
    let job = br#"{"optimizations": [{"model": "rawmodels/one", "config": {"limits": {"faces": {"percentage": 50}}}}]}"#;
    fs::write(fixture.path("jobs/many.json"), job).unwrap();
    let status = text(&read(fixture.path("jobs/many.status")));
    assert!(!status.contains("no model"), "{status}");
    run(assetfs("unmount --now", fixture.root()));
    fixture.mount(&[]);
    fixture.wait("rawmodels/one");
    assert_eq!(fixture.only_asset()["name"], "one");
    fixture.wait("jobs/many.json");
}

#[test]
fn a_zip_has_the_same_paths_on_every_machine_and_no_junk() {
    needs_fuse!();
    let fixture = Fixture::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in [
        "chair/one.glb",
        "__MACOSX/chair/._one.glb",
        "chair/.DS_Store",
    ] {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(name, options).unwrap();
        zip.write_all(&triangle_glb("one")).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    fs::write(fixture.path("rawmodels/chair.zip"), &zip).unwrap();
    fixture.wait("rawmodels/chair");
    let other = fixture.second_machine();
    let paths = |root: &std::path::Path| {
        let model = root.join("rawmodels/chair");
        let mut found = run(Command::new("find").arg(&model).args([
            "-type",
            "f",
            "-not",
            "-path",
            "*/analysis/*",
            "-printf",
            "%P\n",
        ]))
        .lines()
        .map(str::to_owned)
        .collect::<Vec<_>>();
        found.sort();
        found
    };
    wait_until("both show what is in it", || {
        let here = paths(&fixture.root());
        here == ["chair/one.glb"] && here == paths(&other.root())
    });
    assert_eq!(
        read(fixture.path("rawmodels/chair/chair/one.glb")),
        triangle_glb("one")
    );
    assert_eq!(read(fixture.path("rawmodels/chair.zip")), zip);
}

#[test]
fn a_model_removed_while_it_is_imported_stays_away_over_a_kill() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.copy_chair();
    let target = fixture.path("rawmodels/chair");
    wait_until("the service has accepted it", || {
        let status = fs::read_to_string(target.join(".assetfs/status")).unwrap_or_default();
        !status.contains("uploading") && !status.contains("settling") && !status.contains("draft")
    });
    run(Command::new("rm").arg("-r").arg(&target));
    fixture.kill_mount();
    fixture.mount(&[]);
    assert!(!exists(&target));
    std::thread::sleep(Duration::from_secs(3));
    assert!(!exists(&target));
    assert_eq!(fixture.status()["drafts"].as_array().unwrap().len(), 0);
    assert!(fixture.service.assets().is_empty());
}

#[test]
fn the_same_bytes_are_taken_again_while_the_service_has_not_answered() {
    needs_fuse!();
    let plan = "[[rule]]\nmethod = \"GET\"\npath = \"*/api-upload/complete\"\ntimes = 1\n\
        fault = { kind = \"latency\", ms = 12000 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(plan, &[]);
    fixture.mount(&[]);
    let source = fixture.copy_chair();
    let target = fixture.path("rawmodels/chair");
    wait_until("the end of the upload is asked for", || {
        fixture.chaos_fired() > 0
    });
    run(Command::new("cp").arg("-rT").args([&source, &target]));
    run(Command::new("cp").arg("-aT").args([&source, &target]));
    // Tools that remove a file before they write it again.
    run(Command::new("cp")
        .args(["-rT", "--remove-destination"])
        .args([&source, &target]));
    let (from, to) = (source.display(), target.display());
    for tool in [
        format!("tar -C '{from}' -cf - . | tar -C '{to}' -xf -"),
        format!("install -m 644 '{from}'/* '{to}'/"),
        format!("rsync -r --inplace '{from}/' '{to}/'"),
        format!("rsync -a --inplace --ignore-times '{from}/' '{to}/'"),
    ] {
        run(Command::new("sh").args(["-ec", &tool]));
    }
    let name = file_names(&source)[0].clone();
    let mut file = File::options()
        .write(true)
        .truncate(true)
        .open(target.join(&name))
        .unwrap();
    assert!(
        file.write_all(b"other bytes")
            .and_then(|()| file.sync_all())
            .is_err()
    );
    drop(file);
    let status = fs::read_to_string(target.join(".assetfs/status")).unwrap();
    assert!(
        status.contains("uploading"),
        "it was still unanswered: {status}"
    );
    fixture.wait("rawmodels/chair");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
}

#[test]
fn a_model_whose_upload_may_be_accepted_is_not_renamed() {
    needs_fuse!();
    let plan = "[[rule]]\nmethod = \"GET\"\npath = \"*/api-upload/complete\"\ntimes = 1\n\
        fault = { kind = \"latency\", ms = 12000 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(plan, &[]);
    fixture.mount(&[]);
    fixture.copy_chair();
    let target = fixture.path("rawmodels/chair");
    wait_until("the end of the upload is asked for", || {
        fixture.chaos_fired() > 0
    });
    let elsewhere = fixture.path("rawmodels/table");
    let file = target.join("chair.gltf");
    for (from, to) in [
        (&target, elsewhere.clone()),
        (&file, elsewhere.with_extension("gltf")),
    ] {
        let refused = fs::rename(from, to).unwrap_err();
        // Not EXDEV, on which `mv` would copy the model and delete it.
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    }
    let why = fixture.why("rawmodels/chair");
    assert!(why.contains("cannot be renamed"), "{why}");
    let status = fs::read_to_string(target.join(".assetfs/status")).unwrap();
    assert!(
        status.contains("uploading"),
        "it was still unanswered: {status}"
    );
    fixture.wait("rawmodels/chair");
    assert!(fs::rename(&target, &elsewhere).is_err());
    fixture.only_asset();
}

#[test]
fn the_paths_of_a_loose_file_go_with_it() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let [file, model] = ["one.glb", "one"].map(|name| fixture.path(&format!("rawmodels/{name}")));
    let is_gone = |path: &Path, after: &str| {
        wait_until(after, || {
            fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        });
    };
    // The kernel may still have the file that was removed by its other path: it looks the path up again.
    let copy = |text: &str| {
        fs::write(&file, triangle_glb(text)).unwrap();
        wait_until("the folder of the copy", || model.is_dir());
    };
    // A second copy is another draft with the same two paths.
    for text in ["a copy", "another"] {
        copy(text);
        assert_eq!(read(model.join("one.glb")), triangle_glb(text));
        fs::remove_file(&file).unwrap();
        is_gone(&model, "removing the file");
    }
    // `rm -r` removes the file, and the folder with it; its own removal of the folder succeeds all the same.
    copy("removed");
    run(Command::new("rm").arg("-r").arg(&model));
    is_gone(&file, "rm -r");
    is_gone(&model, "rm -r");
    for cancelled in [&file, &model] {
        copy("cancelled");
        run(assetfs("cancel", cancelled));
        is_gone(&file, "cancelling");
        is_gone(&model, "cancelling");
    }
    copy("renamed");
    fs::rename(&file, fixture.path("rawmodels/two.glb")).unwrap();
    is_gone(&model, "renaming the file");
    // As long as the model exists, and no longer.
    copy("sent");
    run(assetfs("commit", &file));
    fixture.wait("rawmodels/one");
    assert!(fs::metadata(&file).unwrap().is_file());
    run(Command::new("rm").arg("-r").arg(&model));
    is_gone(&file, "removing the model");
    copy("again");
    assert_eq!(read(model.join("one.glb")), triangle_glb("again"));
}

#[test]
fn a_file_of_a_set_renamed_over_its_uploaded_copy_takes_nothing_else_of_the_set() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let sent = fixture.path("rawmodels/chair.glb");
    fs::write(&sent, triangle_glb("chair")).unwrap();
    run(assetfs("commit", &sent));
    fixture.wait("rawmodels/chair");
    let set = fixture.path("rawmodels/set");
    fs::create_dir(&set).unwrap();
    fs::write(set.join("chair.glb"), triangle_glb("chair")).unwrap();
    fs::write(set.join("table.glb"), triangle_glb("table")).unwrap();
    // Until the service's files were compared, the name belongs to the staged copy.
    wait_until("the rename is accepted", || {
        fs::rename(set.join("chair.glb"), &sent).is_ok()
    });
    assert_eq!(read(set.join("table.glb")), triangle_glb("table"));
    assert!(!set.join("chair.glb").exists());
    assert_eq!(read(&sent), triangle_glb("chair"));
    fixture.only_asset();
}

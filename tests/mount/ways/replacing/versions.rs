//! New versions of models: `assetfs replace`, and tools that rename a new file over a loose one. The name moves when
//! the new version is complete, the old version stays, and nothing is sent that is there already.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::super::models::triangle_glb;
use super::{
    Chair, drafts, first_draft, id, large_version_of, left_version, listed, replace, uploaded,
    version_of,
};
use crate::square_glb::broken_glb;
use crate::support::{
    ASSETFS, Fixture, assert_same_files, assetfs, exists, fails, names_in, read, run, text,
    wait_until,
};
use crate::{needs_fuse, needs_program};

fn rapids(fixture: &Fixture) -> usize {
    names_in(&fixture.path("rapidmodels")).len()
}

const CONFIG: &[u8] = br#"{"limits": {"faces": {"percentage": 50}}}"#;

#[test]
fn a_new_version_takes_the_name_and_the_old_one_keeps_its_results() {
    needs_fuse!();
    let Chair {
        mut fixture,
        first,
        model,
        ..
    } = Chair::mounted(&[]);
    fs::write(model.join("optimize/web.json"), CONFIG).unwrap();
    fixture.wait("rawmodels/chair/optimize/web.json");
    let (old_id, old_inode) = (id(&model), fs::metadata(&model).unwrap().ino());
    let second = version_of(&first, "2");
    run(replace(&second, &model));
    let old = fixture.path(&format!("rawmodels/chair~{old_id}"));
    for _ in 0..2 {
        assert_ne!(id(&model), old_id);
        assert_ne!(fs::metadata(&model).unwrap().ino(), old_inode);
        assert_same_files(&second, &model);
        assert_same_files(&first, &old);
        assert_eq!(id(&old), old_id);
        let expected = ["chair".to_owned(), format!("chair~{old_id}")];
        assert_eq!(listed(&fixture), expected);
        // The results belong to the version that they were made from.
        assert!(!exists(model.join("optimize/web.json")));
        assert!(names_in(&model.join("rapidmodels")).is_empty());
        assert!(exists(old.join("optimize/web/chair.glb")));
        assert_eq!(names_in(&old.join("rapidmodels")), ["chair"]);
        // What is there already is not sent again.
        let again = run(replace(&second, &model));
        assert!(again.contains("has these files already"), "{again}");
        assert_eq!(uploaded(&fixture), 2);
        run(assetfs("unmount", fixture.root()));
        fixture.mount(&[]);
    }
    // The same text runs for the new version, once.
    for _ in 0..2 {
        fs::write(model.join("optimize/web.json"), CONFIG).unwrap();
        fixture.wait("rawmodels/chair/optimize/web.json");
    }
    assert_eq!(rapids(&fixture), 2);
    let result = fs::canonicalize(model.join("optimize/web")).unwrap();
    let before = fs::canonicalize(old.join("optimize/web")).unwrap();
    // The result of the present version has the plain name.
    assert_eq!(result, fixture.path("rapidmodels/chair"));
    let name_of_old = format!("rapidmodels/chair~{}", id(&before));
    assert_eq!(before, fixture.path(&name_of_old));
    let source = fs::canonicalize(result.join(".assetfs/source")).unwrap();
    assert_eq!(source, model);
}

#[test]
fn a_version_that_cannot_be_imported_leaves_the_old_one_in_its_place() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::mounted(&[]);
    let broken = broken_glb();
    let file = fixture.scratch.path().join("broken.glb");
    fs::write(&file, &broken).unwrap();
    let said = fails(replace(&file, &model), 1);
    assert!(said.contains("the old one is kept"), "{said}");
    assert_eq!(id(&model), old);
    assert_same_files(&first, &model);
    let why = fixture.why("rawmodels/chair");
    assert!(why.contains("version rawmodels/chair~new failed"), "{why}");
    let version = fixture.path("rawmodels/chair~new");
    assert_eq!(read(version.join("broken.glb")), broken);
    assert!(!read(version.join("ERROR.txt")).is_empty());
    // The next version takes its place.
    let second = version_of(&first, "2");
    run(replace(&second, &model));
    assert_same_files(&second, &model);
    assert_eq!(
        listed(&fixture),
        ["chair".to_owned(), format!("chair~{old}")]
    );
    wait_until("the failed one is deleted", || uploaded(&fixture) == 2);
}

#[test]
fn a_version_under_way_survives_a_kill_and_is_joined_or_cancelled() {
    needs_fuse!();
    let Chair {
        mut fixture,
        first,
        model,
        old,
    } = Chair::mounted(&["--limit-up", "64K"]);
    let [second, third] = ["2", "3"].map(|mark| large_version_of(&first, mark));
    run(replace(&second, &model).arg("--no-wait"));
    assert_eq!(id(&model), old);
    let status = fixture.status();
    let draft = &status["drafts"][0];
    assert_eq!(draft["replaces"], "/rawmodels/chair", "{status}");
    assert_eq!(draft["path"], "/rawmodels/chair~new");
    fixture.kill_mount();
    fixture.mount(&["--limit-up", "64K"]);
    // Another version takes the place of the one under way.
    run(replace(&third, &model).arg("--no-wait"));
    // The old model has a new version: that is cancelled, not the model.
    run(assetfs("cancel", &model));
    assert!(!exists(fixture.path("rawmodels/chair~new")));
    assert_eq!(id(&model), old);
    run(replace(&second, &model).arg("--no-wait"));
    fixture.kill_mount();
    fixture.mount(&[]);
    run(replace(&second, &model));
    assert_same_files(&second, &model);
    assert_eq!(
        listed(&fixture),
        ["chair".to_owned(), format!("chair~{old}")]
    );
    wait_until("nothing else is left", || {
        fixture.service.assets().len() == 2
    });
}

#[test]
fn files_that_are_never_sent_make_no_version_of_their_own() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&[]);
    let second = version_of(&first, "2");
    let left_out = [
        "analysis/notes.txt",
        "renders/side.png",
        ".git/config",
        ".DS_Store",
    ];
    for name in left_out {
        fs::create_dir_all(second.join(name).parent().unwrap()).unwrap();
        fs::write(second.join(name), name).unwrap();
    }
    // A folder with the name of a service's is sent if the model refers to it.
    let gltf = second.join("chair.gltf");
    let mut document: Value = serde_json::from_slice(&read(&gltf)).unwrap();
    document["images"][0]["uri"] = "pbr/wood.png".into();
    fs::write(&gltf, document.to_string()).unwrap();
    fs::create_dir(second.join("pbr")).unwrap();
    let picture = second.join("pbr/wood.png");
    fs::copy(second.join("wood_baseColor.png"), &picture).unwrap();
    run(replace(&second, &model));
    let said = run(replace(&second, &model));
    assert!(said.contains("has these files already"), "{said}");
    assert_eq!(uploaded(&fixture), 2);
    assert_eq!(read(model.join("pbr/wood.png")), read(picture));
    for name in left_out {
        assert!(!exists(model.join(name)), "{name}");
    }
}

#[test]
fn an_interrupted_copy_replaces_nothing() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::mounted(&[]);
    let second = version_of(&first, "2");
    let version = left_version(&fixture, &model);
    wait_until("it says what it waits for", || {
        text(&read(version.join(".assetfs/status"))).contains("a new version of chair")
    });
    // Much longer than the settle time.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(
        text(&read(version.join(".assetfs/state"))).trim(),
        "needs_commit"
    );
    assert_eq!((uploaded(&fixture), id(&model)), (1, old));
    run(replace(&second, &model));
    assert_same_files(&second, &model);
    assert_eq!(uploaded(&fixture), 2);
}

#[test]
fn a_model_that_does_not_exist_is_made_and_what_is_no_model_is_refused() {
    needs_fuse!();
    let fixture = Fixture::new();
    let scratch = fixture.scratch.path().to_owned();
    let source = scratch.join("one.glb");
    fs::write(&source, triangle_glb("1")).unwrap();
    let model = fixture.path("rawmodels/one");
    let made = run(replace(&source, &model));
    assert!(made.contains("is a new model"), "{made}");
    assert_eq!(read(model.join("one.glb")), triangle_glb("1"));
    fs::write(&source, triangle_glb("2")).unwrap();
    run(replace(&source, &model));
    assert_eq!(read(model.join("one.glb")), triangle_glb("2"));
    let old = listed(&fixture).pop().unwrap();
    assert!(old.starts_with("one~"), "{old}");
    fs::write(&source, triangle_glb("3")).unwrap();
    let refused = fails(replace(&source, &fixture.path("rawmodels").join(&old)), 2);
    assert!(
        refused.contains("always means the model with this id"),
        "{refused}"
    );
    fails(replace(&source, &fixture.path("presets/one")), 2);
    fails(replace(&source, &scratch.join("elsewhere")), 1);
    std::os::unix::fs::symlink(&source, scratch.join("link.glb")).unwrap();
    let folder = scratch.join("linked");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&source, folder.join("one.glb")).unwrap();
    let refused = fails(replace(&folder, &model), 1);
    assert!(refused.contains("is a symbolic link"), "{refused}");
    assert_eq!(uploaded(&fixture), 2);
}

#[test]
fn a_file_renamed_over_a_loose_one_is_its_new_version() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = fixture.scratch.path().join("one.glb");
    let loose = fixture.path("rawmodels/one.glb");
    let model = fixture.path("rawmodels/one");
    let rsync = || {
        let mut command = Command::new("rsync");
        command.args(["-t", "--checksum"]).args([&source, &loose]);
        command
    };
    fs::write(&source, triangle_glb("1")).unwrap();
    run(rsync());
    fixture.wait("rawmodels/one");
    let old = id(&model);
    wait_until("its staged copy is gone", || drafts(&fixture).is_empty());
    fs::write(&source, triangle_glb("2")).unwrap();
    wait_until("the service has checked the files", || {
        rsync().output().unwrap().status.success()
    });
    // The file has the new bytes at once, the model when they are complete.
    assert_eq!(read(&loose), triangle_glb("2"));
    wait_until("the new version has the name", || id(&model) != old);
    let times = |path: &Path| fs::metadata(path).unwrap().mtime();
    for _ in 0..2 {
        assert_eq!(read(&loose), triangle_glb("2"));
        assert_eq!(read(model.join("one.glb")), triangle_glb("2"));
        assert_eq!(times(&loose), times(&source));
        let kept = fixture.path(&format!("rawmodels/one~{old}/one.glb"));
        assert_eq!(read(kept), triangle_glb("1"));
        run(rsync());
        assert_eq!(uploaded(&fixture), 2);
        run(assetfs("unmount", fixture.root()));
        fixture.mount(&[]);
    }
    // The command keeps the path, and can delete the old version.
    fs::write(&source, triangle_glb("3")).unwrap();
    run(replace(&source, &model).arg("--remove-old"));
    assert_eq!(read(&loose), triangle_glb("3"));
    wait_until("the second version is deleted", || uploaded(&fixture) == 2);
    assert_eq!(listed(&fixture), ["one".to_owned(), format!("one~{old}")]);
}

#[test]
fn the_makefile_of_the_documents_needs_no_version_in_its_names() {
    needs_fuse!();
    needs_program!("make");
    let fixture = Fixture::new();
    let page = include_str!("../../../../docs/semantics.md");
    let rules = page.split_once("```make\n").expect("a Makefile").1;
    let rules = rules.split_once("```").expect("its end").0;
    let project = fixture.scratch.path().join("project");
    fs::create_dir_all(project.join("models")).unwrap();
    fs::create_dir(project.join("presets")).unwrap();
    fs::write(project.join("Makefile"), rules).unwrap();
    fs::write(project.join("presets/web.json"), CONFIG).unwrap();
    let model = project.join("models/one.glb");
    let made = project.join("web/one.glb");
    let program = Path::new(ASSETFS).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let make = || {
        run(Command::new("make")
            .arg("web/one.glb")
            .env("ASSETS", fixture.root())
            .env("PATH", &path)
            .current_dir(&project))
    };
    fs::write(&model, triangle_glb("1")).unwrap();
    make();
    let first = read(&made);
    assert!(first.starts_with(b"glTF"));
    let said = make();
    assert!(said.contains("up to date"), "{said}");
    // `make` compares times, which the kernel counts in steps of several milliseconds.
    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    wait_until("the model is newer than the result", || {
        fs::write(&model, triangle_glb("2")).unwrap();
        time(&model) > time(&made)
    });
    make();
    assert_eq!((uploaded(&fixture), rapids(&fixture)), (2, 2));
    // The model was only touched: nothing is sent and nothing is paid.
    let touched = std::time::SystemTime::now() + Duration::from_secs(5);
    fs::File::options()
        .append(true)
        .open(&model)
        .unwrap()
        .set_modified(touched)
        .unwrap();
    make();
    assert_eq!((uploaded(&fixture), rapids(&fixture)), (2, 2));
}

#[test]
fn another_machine_sees_both_versions_under_the_same_names() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&[]);
    let other = fixture.second_machine();
    let there = other.root().join("rawmodels");
    wait_until("the other machine lists it", || {
        names_in(&there) == ["chair"]
    });
    let (old, second) = (id(&model), version_of(&first, "2"));
    run(replace(&second, &model));
    let new = id(&model);
    // The new version says which model it replaces, so it has the plain name everywhere.
    wait_until("the other machine lists the new version", || {
        names_in(&there) == ["chair".to_owned(), format!("chair~{old}")].map(OsString::from)
    });
    assert_eq!(id(&there.join("chair")), new);
    assert_eq!(id(&there.join(format!("chair~{old}"))), old);
    // It replaces a model that it knows from the service alone.
    let third = version_of(&first, "3");
    run(replace(&third, &there.join("chair")));
    assert_same_files(&third, &there.join("chair"));
    assert_eq!(id(&there.join(format!("chair~{new}"))), new);
}

#[test]
fn a_later_machine_knows_the_first_version_as_old_when_the_one_that_replaced_it_is_deleted() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&[]);
    let old = id(&model);
    let optimize = || {
        let text = model.join("optimize/half.json");
        fs::write(&text, CONFIG).unwrap();
        run(assetfs("wait", &text));
    };
    optimize();
    run(replace(&version_of(&first, "2"), &model));
    optimize();
    let second = id(&model);
    run(replace(&version_of(&first, "3"), &model).arg("--remove-old"));
    let new = id(&model);
    let names = || ["chair".to_owned(), format!("chair~{old}")].map(OsString::from);
    let rawmodels = fixture.path("rawmodels");
    wait_until("the second version is deleted", || {
        names_in(&rawmodels) == names()
    });
    let later = fixture.second_machine();
    let there = later.root().join("rawmodels");
    wait_until("the later machine lists both", || {
        names_in(&there) == names()
    });
    assert_eq!(id(&there.join("chair")), new);
    assert_eq!(id(&there.join(format!("chair~{old}"))), old);
    let results = |rapidmodels: &Path| {
        let names = names_in(rapidmodels).into_iter();
        let ids = names.map(|name| (id(&rapidmodels.join(&name)), name));
        ids.collect::<Vec<_>>()
    };
    let here = results(&fixture.path("rapidmodels"));
    assert_eq!(here.len(), 2);
    assert_eq!(results(&later.root().join("rapidmodels")), here);
    // Both name the version that it was sent to replace, which is deleted.
    for rawmodels in [&rawmodels, &there] {
        let lists = fs::read_to_string(rawmodels.join(".assetfs/models.jsonl")).unwrap();
        let second = format!("\"replaces\":{second}");
        assert!(lists.contains(&second), "{lists}");
    }
}

#[test]
fn a_replacement_that_another_one_takes_the_place_of_does_not_report_success() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&["--limit-up", "64K"]);
    let second = large_version_of(&first, "2");
    let third = version_of(&first, "3");
    let mut waiting = replace(&second, &model).arg("--quiet").spawn().unwrap();
    wait_until("the service has begun the second version", || {
        first_draft(&fixture)["asset"].is_u64()
    });
    run(replace(&third, &model));
    assert_same_files(&third, &model);
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
}

#[test]
fn what_was_written_in_place_is_seen_as_soon_as_close_returns() {
    needs_fuse!();
    let fixture = Fixture::new();
    let files: Vec<_> = (0..5)
        .map(|number| fixture.path(&format!("rawmodels/model{number}.glb")))
        .collect();
    for file in &files {
        fs::write(file, triangle_glb("first")).unwrap();
    }
    wait_until("the staged copies are gone", || drafts(&fixture).is_empty());
    let second = triangle_glb("the second version");
    for file in &files {
        // The kernel keeps the name and the size for a moment.
        assert_ne!(fs::metadata(file).unwrap().len(), second.len() as u64);
        fs::write(file, &second).unwrap();
        assert_eq!(fs::metadata(file).unwrap().len(), second.len() as u64);
        assert_eq!(read(file), second);
    }
}

#[test]
fn the_old_version_is_whole_while_its_loose_file_is_written_in_place() {
    needs_fuse!();
    let fixture = Fixture::new();
    // What has the bytes of another model is not sent by `sync`.
    let versions = |name: &str| {
        let named = |which| triangle_glb(&format!("the {which} version of {name}"));
        [named("first"), named("second, longer")]
    };
    fs::write(fixture.path("rawmodels/copied.glb"), &versions("copied")[0]).unwrap();
    let source = fixture.scratch.path().join("models");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("synced.glb"), &versions("synced")[0]).unwrap();
    run(assetfs("sync", &source)
        .arg(fixture.root())
        .env("HOME", fixture.scratch.path()));
    wait_until("the staged copies are gone", || drafts(&fixture).is_empty());
    for name in ["copied", "synced"] {
        let file = fixture.path(&format!("rawmodels/{name}.glb"));
        let inside = fixture.path(&format!("rawmodels/{name}/{name}.glb"));
        let [first, second] = versions(name);
        let mut writer = File::create(&file).unwrap();
        writer.write_all(&second[..9]).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().len(), 9, "{name}");
        let whole = fs::metadata(&inside).unwrap().len();
        assert_eq!(whole, first.len() as u64, "{name}");
        assert_eq!(read(&inside), first, "{name}");
        writer.write_all(&second[9..]).unwrap();
        drop(writer);
        assert_eq!(read(&file), second, "{name}");
    }
}

#[test]
fn a_program_that_a_writer_starts_neither_waits_for_ever_nor_ends_the_save() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let file = fixture.path("rawmodels/chair.glb");
    let first = triangle_glb("the first version");
    fs::write(&file, &first).unwrap();
    wait_until("the staged copy is gone", || drafts(&fixture).is_empty());
    let second = triangle_glb("the second version");
    let mut writer = File::create(&file).unwrap();
    writer.write_all(&second[..9]).unwrap();
    // When a program starts, the kernel closes its copies of the descriptors and waits for the drive to answer.
    let (send, ended) = mpsc::channel();
    thread::spawn(move || send.send(Command::new("true").status().unwrap()));
    let ended = ended.recv_timeout(Duration::from_secs(30));
    assert!(ended.expect("the program has ended").success());
    let is_listed = || names_in(&fixture.path("rawmodels")).contains(&"chair.glb".into());
    assert!(!is_listed(), "it is not closed");
    fixture.kill_mount();
    fixture.mount(&[]);
    assert_eq!(read(&file), first);
    assert_eq!(names_in(&fixture.path("rawmodels")), ["chair"]);
    drop(writer);
    // A writer that started a program can go on. The file is saved when the writer closes it.
    let mut writer = File::create(&file).unwrap();
    writer.write_all(&second[..9]).unwrap();
    run(Command::new("true"));
    writer.write_all(&second[9..]).unwrap();
    drop(writer);
    assert_eq!(read(&file), second);
}

#[test]
fn a_text_that_waits_for_a_model_that_failed_runs_for_its_next_version() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::write(fixture.path("rawmodels/lone.glb"), broken_glb()).unwrap();
    let model = fixture.path("rawmodels/lone");
    fails(assetfs("wait", &model), 1);
    let text = model.join("optimize/half.json");
    fs::write(&text, CONFIG).unwrap();
    let sound = fixture.scratch.path().join("sound.glb");
    fs::write(&sound, triangle_glb("sound")).unwrap();
    run(replace(&sound, &model));
    run(assetfs("wait", &text));
    assert!(exists(model.join("optimize/half")));
}

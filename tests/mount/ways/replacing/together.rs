//! Several `assetfs replace` of one model at the same time: each version has the files of one source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use super::super::models::triangle_glb;
use super::{
    Chair, Running, drafts, first_draft, id, large_version_of, listed, replace, uploaded,
    version_of,
};
use crate::needs_fuse;
use crate::support::{
    Fixture, assert_same_files, assetfs, exists, file_names, read, run, text, wait_until,
};

/// A model of many files, which say whose they are.
fn many_files(scratch: &Path, mark: &str) -> PathBuf {
    let dir = scratch.join(format!("source-{mark}"));
    fs::create_dir_all(dir.join("textures")).unwrap();
    fs::write(dir.join("model.glb"), triangle_glb(mark)).unwrap();
    for number in 0..30 {
        let name = format!("textures/{number}.bin");
        fs::write(dir.join(name), mark.repeat(1000 + number)).unwrap();
    }
    fs::write(dir.join(format!("only-{mark}.txt")), mark).unwrap();
    dir
}

/// Runs one command for each source at the same time.
fn together(sources: &[PathBuf], model: &Path) -> Vec<Output> {
    let start = |source: &PathBuf| Running::start(&mut replace(source, model));
    let running: Vec<Running> = sources.iter().map(start).collect();
    running.into_iter().map(Running::end).collect()
}

/// The outputs have no raw error, and one of the commands succeeded.
fn check_ends(outputs: &[Output]) {
    for output in outputs {
        let said = text(&output.stderr);
        assert!(!said.contains("os error"), "{said}");
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}: {said}");
        assert_eq!(code == Some(1), said.contains("assetfs: "), "{said}");
    }
    let succeeded = outputs.iter().filter(|output| output.status.success());
    assert!(succeeded.count() >= 1, "{outputs:?}");
}

/// The source whose files a model has, without exception.
fn source_of<'sources>(model: &Path, sources: &'sources [PathBuf]) -> &'sources Path {
    let is_it = |source: &&PathBuf| {
        let mark = source.file_name().unwrap().to_str().unwrap();
        exists(model.join(mark.replace("source-", "only-") + ".txt"))
    };
    let mut found = sources.iter().filter(is_it);
    let source = found.next().expect("the files of a source");
    assert_eq!(found.next(), None, "{:?}", file_names(model));
    assert_same_files(source, model);
    source
}

#[test]
fn two_replacements_at_the_same_time_never_mix_their_files() {
    needs_fuse!();
    let fixture = Fixture::new();
    let scratch = fixture.scratch.path().to_owned();
    let model = fixture.path("rawmodels/many");
    // The first version, too, is made by one of two.
    let mut sources = Vec::new();
    for round in 0..3 {
        let both = ["a", "b"].map(|mark| many_files(&scratch, &format!("{mark}{round}")));
        check_ends(&together(&both, &model));
        source_of(&model, &both);
        sources.extend(both);
    }
    for name in listed(&fixture) {
        assert!(name == "many" || name.starts_with("many~"), "{name}");
        source_of(&fixture.path("rawmodels").join(name), &sources);
    }
}

#[test]
fn two_replacements_of_a_loose_file_never_mix_their_bytes() {
    needs_fuse!();
    let fixture = Fixture::new();
    let scratch = fixture.scratch.path().to_owned();
    let loose = fixture.path("rawmodels/one.glb");
    let model = fixture.path("rawmodels/one");
    fs::write(&loose, triangle_glb("first")).unwrap();
    fixture.wait("rawmodels/one");
    wait_until("its staged copy is gone", || drafts(&fixture).is_empty());
    let sources = ["a", "b"].map(|mark| {
        let dir = scratch.join(mark);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("one.glb"), triangle_glb(&mark.repeat(200_000))).unwrap();
        dir.join("one.glb")
    });
    check_ends(&together(&sources, &model));
    let now = read(model.join("one.glb"));
    assert!(sources.iter().any(|source| read(source) == now));
    assert_eq!(read(&loose), now);
    assert!(!exists(fixture.path("rawmodels/.one.glb.copies")));
}

#[test]
fn a_version_that_is_cancelled_during_its_copy_takes_no_more_files() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::mounted(&[]);
    let second = version_of(&first, "2");
    // Enough that the copy takes a while.
    for number in 0..400 {
        fs::write(second.join(format!("{number}.bin")), vec![7; 100_000]).unwrap();
    }
    let version = fixture.path("rawmodels/chair~new");
    let running = Running::start(&mut replace(&second, &model));
    wait_until("files are copied", || exists(version.join("0.bin")));
    run(assetfs("cancel", &version));
    // Another draft of the name is not that one.
    fs::create_dir(&version).unwrap();
    let output = running.end();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cancelled or removed"), "{said}");
    assert_eq!(file_names(&version), Vec::<String>::new());
    assert_eq!((id(&model), uploaded(&fixture)), (old, 1));
}

#[test]
fn a_path_that_something_else_has_for_a_moment_is_waited_for() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::mounted(&[]);
    let second = version_of(&first, "2");
    let version = fixture.path("rawmodels/chair~new");
    fs::create_dir(&version).unwrap();
    fs::write(version.join("note.part"), "of somebody else").unwrap();
    let mut running = Running::start(&mut replace(&second, &model));
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!running.has_ended(), "{}", running.said());
    run(assetfs("cancel", &version));
    let output = running.end();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_ne!(id(&model), old);
    assert_same_files(&second, &model);
}

#[test]
fn joining_a_version_under_way_has_it_remove_the_old_one() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&["--limit-up", "64K"]);
    let second = large_version_of(&first, "2");
    let said = run(replace(&second, &model).args(["--no-wait", "--json"]));
    let row: Value = serde_json::from_str(&said).unwrap();
    // The name still means the old version.
    assert_eq!(row["outcome"], "uploading", "{row}");
    assert_eq!(row["old_id"], id(&model), "{row}");
    assert_eq!(row["id"], Value::Null, "{row}");
    let draft = || first_draft(&fixture);
    wait_until("the service has begun it", || draft()["asset"].is_u64());
    let (asset, removes) = (draft()["asset"].clone(), draft()["removes_old"].clone());
    assert_eq!(removes, false);
    run(replace(&second, &model).args(["--no-wait", "--remove-old"]));
    assert_eq!(draft()["removes_old"], true);
    // It is the same upload.
    assert_eq!(draft()["asset"], asset);
    let said = run(replace(&second, &model));
    // The upload may have ended before this command begins.
    let ended = ["the old version is deleted", "has these files already"];
    assert!(ended.iter().any(|words| said.contains(words)), "{said}");
    assert_eq!(id(&model), asset.as_u64().unwrap());
    wait_until("the old version is deleted", || uploaded(&fixture) == 1);
    wait_until("it is not listed", || listed(&fixture) == ["chair"]);
}

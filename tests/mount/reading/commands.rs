//! The commands that manage the cache and compare copies.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::process::Command;

use serde_json::{Value, json};

use super::{MIB, SmallDisk, World, cache_has_room, forget_pages, triangle};
use crate::needs_fuse;
use crate::support::{ASSETFS, assetfs, run};

#[test]
fn the_cache_is_shown_verified_pinned_and_cleared_by_commands() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    let world = World::new(MIB, &[]);
    let command = |args: &[&str]| {
        let output = Command::new(ASSETFS)
            .args(args)
            .arg(world.fixture.root())
            .output();
        output.expect("assetfs runs")
    };
    let info = |args: &[&str]| -> Value {
        let output = command(args);
        serde_json::from_slice(&output.stdout).expect("a line of JSON")
    };
    let model = world.fixture.path("rawmodels/m");
    run(assetfs("pin", &model));
    let held = info(&["cache", "info", "--json"]);
    assert_eq!(held["pins"], json!(["rawmodels/m"]));
    assert!(held["used_bytes"].as_u64() >= Some(MIB as u64), "{held}");
    let verified = info(&["cache", "verify", "--json"]);
    assert_eq!(verified["verify"]["bad_blocks"], 0);
    assert!(
        verified["verify"]["blocks"].as_u64() >= Some(16),
        "{verified}"
    );
    let data = world
        .cache_files("data")
        .into_iter()
        .max_by_key(|path| fs::metadata(path).map_or(0, |it| it.size()))
        .expect("a file");
    let rotten = File::options().write(true).open(&data).expect("it opens");
    rotten.write_at(b"rot", 100_000).expect("spoiled");
    let found = command(&["cache", "verify", "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    assert_eq!(report["verify"]["bad_blocks"], 1);
    world.assert_whole();
    run(assetfs("unpin", &model));
    assert!(command(&["cache", "clear"]).status.success());
    let empty = info(&["cache", "info", "--json"]);
    assert_eq!((&empty["objects"], &empty["pins"]), (&json!(0), &json!([])));
    world.assert_whole();
    run(assetfs("unmount --now", world.fixture.root()));
    let cache = world.fixture.scratch.path().join("cache");
    let offline = assetfs("cache verify --json --cache-dir", &cache)
        .output()
        .expect("assetfs runs");
    // If another drive is mounted on this machine, the command refers to that one.
    if let Ok(report) = serde_json::from_slice::<Value>(&offline.stdout)
        && report["cache"]
            .as_str()
            .is_some_and(|it| it.starts_with(&*cache.to_string_lossy()))
    {
        assert_eq!(report["verify"]["bad_blocks"], 0);
    }
}

#[test]
fn a_cache_whose_disk_is_too_full_says_so_and_what_to_do() {
    needs_fuse!();
    let mut world = World::unmounted(MIB);
    let disk = world.fixture.scratch.path().join("cache");
    fs::create_dir(&disk).expect("a folder");
    let Some(_disk) = SmallDisk::mount(&disk, "16M") else {
        return;
    };
    // In the folder of another account: a cache folder with files of others is refused.
    let other = disk.join("local-other");
    fs::create_dir(&other).expect("a folder");
    let filler = other.join("filler");
    fs::write(&filler, vec![1; 15 * MIB + 700_000]).expect("filled");
    world.fixture.mount(&[]);
    world.assert_whole();
    let told = |args: &[&str]| run(Command::new(ASSETFS).args(args).arg(world.fixture.root()));
    let shortage = world.status()["cache"]["disk_shortage"].clone();
    assert!(shortage["free_bytes"].as_u64() < shortage["keep_free_bytes"].as_u64());
    for command in [&["status"][..], &["cache", "info"]] {
        let page = told(command);
        assert!(page.contains("keeps nothing new"), "{page}");
        assert!(page.contains("--cache-dir"), "{page}");
    }
    fs::remove_file(&filler).expect("removed");
    assert!(!told(&["status"]).contains("keeps nothing new"));
    forget_pages(&File::open(world.big()).expect("it opens"));
    world.assert_whole();
    assert!(world.status()["cache"]["used_bytes"].as_u64() >= Some(MIB as u64));
}

#[test]
fn pinning_more_than_the_cache_may_hold_fails_and_says_so() {
    needs_fuse!();
    let mut world = World::unmounted(3 * MIB);
    world.fixture.mount(&["--cache-size", "1M"]);
    let model = world.fixture.path("rawmodels/m");
    let pin = || {
        let mut command = Command::new(ASSETFS);
        command
            .arg("pin")
            .arg(&model)
            .output()
            .expect("assetfs runs")
    };
    let output = pin();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no room for all of it"), "{said}");
    assert!(said.contains("--cache-size"), "{said}");
    world.assert_whole();

    run(assetfs("unmount --now", world.fixture.root()));
    world.fixture.mount(&["--cache-size", "64M"]);
    let output = pin();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn check_finds_what_is_missing_and_what_differs() {
    needs_fuse!();
    let world = World::new(200_000, &[]);
    let local = world.fixture.scratch.path().join("local");
    fs::create_dir(&local).expect("a folder");
    fs::write(local.join("big.bin"), &*world.content).expect("a file");
    fs::write(local.join("m.gltf"), triangle()).expect("a file");
    let model = world.fixture.path("rawmodels/m");
    let check = |more: &[&str]| {
        let output = Command::new(ASSETFS)
            .args(["check", "--json"])
            .args([&local, &model])
            .args(more)
            .output()
            .expect("assetfs runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), report)
    };
    let (code, report) = check(&[]);
    assert_eq!((code, &report["differences"]), (Some(0), &json!([])));
    assert_eq!(report["by_bytes"], 2);
    let mut spoiled = world.content.to_vec();
    spoiled[150_000] ^= 1;
    fs::write(local.join("big.bin"), &spoiled).expect("a file");
    fs::write(local.join("m.gltf"), "shorter").expect("a file");
    fs::write(local.join("more.bin"), "more").expect("a file");
    let (code, report) = check(&[]);
    assert_eq!(code, Some(1));
    let kinds: Vec<&str> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["what"]["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["content", "size", "missing"]);
    let (_, report) = check(&["--size-only"]);
    assert_eq!(report["differences"].as_array().map(Vec::len), Some(2));
}

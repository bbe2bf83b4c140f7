//! The link to the page that signs in once: who prints it, and where it must not be.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::support::{ASSETFS, fails, run, text, wait_until};
use crate::needs_fuse;

/// The code of the first link in a text.
fn code_in(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("/#sign-in=")?;
    Some(rest.chars().take_while(char::is_ascii_hexdigit).collect())
}

fn command(dir: &Path, words: &str) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .args(words.split(' '))
        .env("HOME", dir)
        .env("XDG_STATE_HOME", dir.join("state"))
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("XDG_DATA_HOME", dir.join("data"))
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env_remove("JOURNAL_STREAM");
    command
}

/// No file below a folder has the text.
fn assert_in_no_file(dir: &Path, wanted: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_in_no_file(&path, wanted);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let is_there = bytes
                .windows(wanted.len())
                .any(|part| part == wanted.as_bytes());
            assert!(!is_there, "{}", path.display());
        }
    }
}

#[test]
fn mount_without_a_path_makes_the_usual_folder_and_prints_a_link_that_no_log_has() {
    needs_fuse!();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mounted = run(command(dir, "mount --local").env("ASSETFS_LOG", "trace"));
    let root = dir.join("assets");
    assert!(
        mounted.contains(&format!("at {}", root.display())),
        "{mounted}"
    );
    let first = code_in(&mounted).expect(&mounted);
    let second = code_in(&run(command(dir, "page"))).unwrap();
    assert!(first != second);
    // A unit that is started again and again writes into the journal.
    let logged = command(dir, "serve")
        .env("JOURNAL_STREAM", "8:1")
        .output()
        .unwrap();
    let said = text(&logged.stderr);
    assert!(
        code_in(&said).is_none() && said.contains("assetfs page"),
        "{said}"
    );
    assert!(run(command(dir, "status").current_dir(&root)).contains("Cache"));
    run(command(dir, "unmount"));
    for code in [first, second] {
        assert_in_no_file(&dir.join("state"), &code);
        assert_in_no_file(&dir.join("data"), &code);
    }
    let said = fails(command(dir, "page"), 1);
    assert!(said.contains("assetfs mount --local"), "{said}");
}

#[test]
fn a_service_that_goes_on_prints_no_link_into_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let file = fs::File::create(&log).unwrap();
    let mut serving = command(dir.path(), "serve --listen 127.0.0.1:0 --no-pictures")
        .stdout(Stdio::from(file))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the service says where it is", || {
        fs::read_to_string(&log).unwrap().contains("Mount it")
    });
    let said = fs::read_to_string(&log).unwrap();
    let link = run(command(dir.path(), "page"));
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert!(
        code_in(&said).is_none() && said.contains("`assetfs page`"),
        "{said}"
    );
    assert!(code_in(&link).is_some(), "{link}");
}

#[test]
fn a_service_that_listens_for_every_machine_says_how_they_find_it() {
    let dir = tempfile::tempdir().unwrap();
    let said_of = |words: &str| {
        let log = dir.path().join("log");
        let file = fs::File::create(&log).unwrap();
        let mut serving = command(dir.path(), words)
            .stdout(Stdio::from(file.try_clone().unwrap()))
            .stderr(Stdio::from(file))
            .spawn()
            .unwrap();
        let said = || fs::read_to_string(&log).unwrap();
        wait_until("the service says where it is", || {
            said().contains("Mount it: assetfs mount DIR --base-url http")
        });
        // It listens for SIGTERM when everything is said.
        run(Command::new("kill").arg(serving.id().to_string()));
        serving.wait().unwrap();
        said()
    };
    let usual = said_of("serve --listen 0.0.0.0:0 --no-pictures");
    assert!(usual.contains("`--public-url http://NAME:"), "{usual}");
    let named = said_of("serve --listen 0.0.0.0:0 --no-pictures --public-url http://studio:8080");
    assert!(!named.contains("Other machines cannot"), "{named}");
}

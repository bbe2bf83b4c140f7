//! `scripts/setup` on a machine that lacks something: it says all that is missing at once, and exactly what to type.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

const SETUP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/setup");

/// A machine of a user without sudo, with these programs besides the usual ones. Returns what setup says.
fn setup_with(programs: &[(&str, &str)]) -> String {
    let bin = tempfile::tempdir().unwrap();
    for usual in ["bash", "env", "sed", "dirname", "sort", "head"] {
        let paths = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(usual));
        let path = paths.iter().find(|path| path.exists()).unwrap();
        symlink(path, bin.path().join(usual)).unwrap();
    }
    for (name, says) in programs.iter().chain(&[("id", "1000"), ("apt-get", "")]) {
        let path = bin.path().join(name);
        fs::write(&path, format!("#!/usr/bin/env bash\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = Command::new(bin.path().join("bash"))
        .arg(SETUP)
        .env("PATH", bin.path())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn setup_says_how_to_get_rust() {
    let said = setup_with(&[]);
    assert!(
        said.contains("sudo apt-get install -y curl ca-certificates\n"),
        "{said}"
    );
    assert!(said.contains("https://sh.rustup.rs"), "{said}");
    let said = setup_with(&[("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)")]);
    assert!(
        said.contains("Rust 1.63.0 is too old") && said.contains("rustup update"),
        "{said}"
    );
}

#[test]
fn setup_names_everything_that_is_missing_in_one_command() {
    let rust = ("cargo", "cargo 1.100.0 (0000000 2027-01-01)");
    let said = setup_with(&[rust]);
    assert!(
        said.contains("sudo apt-get install -y fuse3 g++ gcc\n"),
        "{said}"
    );
    let said = setup_with(&[rust, ("cc", ""), ("c++", "")]);
    assert!(said.contains("sudo apt-get install -y fuse3\n"), "{said}");
}

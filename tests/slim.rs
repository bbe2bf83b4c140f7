//! The program without the local service (`cargo test --no-default-features --test slim`): what is missing is said in one
//! sentence, and nothing is begun. In the full build these tests do not exist.

#![cfg(not(feature = "local-service"))]

use std::path::Path;
use std::process::Command;

const WRONG_USE: i32 = 2;

/// Runs a command line (words separated by blanks) in an empty home; returns its exit code, output and errors.
fn ran(home: &Path, line: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_assetfs"))
        .args(line.split_whitespace())
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .env("ASSETFS_KEYRING", "off")
        .output()
        .unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    (output.status.code(), out, err)
}

#[test]
fn what_needs_the_local_service_is_refused_in_one_sentence() {
    let home = tempfile::tempdir().unwrap();
    for (line, asked) in [
        ("mount drive --local", "--local needs"),
        ("mount drive -o local", "--local needs"),
        ("mount drive -f --local --chaos plan.toml", "--local needs"),
        ("whoami --local", "--local needs"),
        ("serve --listen 127.0.0.1:0", "`assetfs serve` needs"),
        (
            "optimize chair.glb out --preset web",
            "`assetfs optimize` needs",
        ),
        ("optimize --list-presets", "`assetfs optimize` needs"),
        (
            "thumbnail -s 256 chair.glb chair.png",
            "`assetfs thumbnail` needs",
        ),
        ("demo", "`assetfs demo` needs"),
        (
            "engine-worker --no-pictures",
            "`assetfs engine-worker` needs",
        ),
        (
            "engine-compare a.glb b.glb",
            "`assetfs engine-compare` needs",
        ),
    ] {
        let (code, out, err) = ran(home.path(), line);
        assert_eq!(code, Some(WRONG_USE), "{line}: {err}");
        assert!(
            err.starts_with(&format!("assetfs: {asked} the local service")),
            "{line}: {err}"
        );
        assert!(err.contains("install the full build"), "{line}: {err}");
        assert_eq!(
            (err.lines().count(), out.as_str()),
            (1, ""),
            "{line}: {err}"
        );
    }
    assert_eq!(
        home.path().read_dir().unwrap().count(),
        0,
        "nothing was made"
    );
}

#[test]
fn a_configuration_that_names_the_local_service_is_refused_with_its_key() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/assetfs");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "local = true\n").unwrap();
    let (code, _, err) = ran(home.path(), "mount drive");
    assert_eq!(code, Some(WRONG_USE), "{err}");
    assert!(
        err.starts_with("assetfs: `local` in the configuration needs"),
        "{err}"
    );
}

#[test]
fn a_mount_without_an_account_is_not_sent_to_the_local_service() {
    let home = tempfile::tempdir().unwrap();
    let (code, _, err) = ran(home.path(), "mount drive");
    assert_eq!(code, Some(WRONG_USE), "{err}");
    assert!(
        err.contains("--base-url") && !err.contains("--local"),
        "{err}"
    );
}

#[test]
fn watch_works_with_a_drive_only() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("hot")).unwrap();
    let (code, _, err) = ran(
        home.path(),
        "watch hot --preset Web-Viewer --out done --once",
    );
    assert_eq!(code, Some(WRONG_USE), "{err}");
    assert!(
        err.starts_with("assetfs: `assetfs watch` without --drive needs"),
        "{err}"
    );
    let (_, _, err) = ran(
        home.path(),
        "watch hot --preset Web-Viewer --out done --drive .",
    );
    assert!(!err.contains("full build"), "{err}");
}

#[test]
fn the_help_shows_only_what_works_here() {
    let home = tempfile::tempdir().unwrap();
    let (_, help, _) = ran(home.path(), "--help");
    let shown = |name: &str| help.lines().any(|line| line.trim_start().starts_with(name));
    for name in ["mount ", "watch ", "convert "] {
        assert!(shown(name), "{name}: {help}");
    }
    for name in ["serve ", "optimize ", "thumbnail ", "demo "] {
        assert!(!shown(name), "{name}: {help}");
    }
}

#[test]
fn doctor_says_what_this_build_leaves_out() {
    let home = tempfile::tempdir().unwrap();
    let (_, out, err) = ran(home.path(), "doctor");
    assert!(out.contains("· Local service: --local needs"), "{out}{err}");
}

//! Shell completions, as bash asks for them. zsh and fish are asked the same question if they are there.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::skip::has_program_or_skips;
use super::support::{ASSETFS, Ran};

/// What bash would offer for the last of `words`.
fn offered(words: &[&str]) -> Vec<String> {
    let folder = Path::new(ASSETFS).parent().unwrap();
    let script = r#"
        set -u
        source <(assetfs completions bash)
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        _clap_complete_assetfs assetfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(words)
        .env("PATH", path)
        .current_dir(folder)
        .output();
    let ran = Ran(output.unwrap());
    ran.out().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_presets() {
    let commands = offered(&["assetfs", "allow"]);
    assert_eq!(commands, ["allow-delete"]);
    let options = offered(&["assetfs", "mount", "--cache-s"]);
    assert_eq!(options, ["--cache-size"]);
    for words in [
        &["assetfs", "optimize", "a.glb", "out", "--preset", "web"][..],
        &["assetfs", "watch", "in", "--preset", "Web V"],
        &["assetfs", "preset", "show", "web"],
    ] {
        let presets = offered(words);
        assert!(
            presets.iter().any(|name| name == "Web Viewer Light"),
            "{words:?}: {presets:?}"
        );
    }
}

#[test]
fn bash_completes_the_codes_of_warnings() {
    for command in ["build", "wait", "optimize"] {
        let codes = offered(&["assetfs", command, "--deny", "miss"]);
        assert_eq!(codes, ["missing-file"], "{command}");
    }
    assert!(offered(&["assetfs", "build", "--deny", ""]).len() > 9);
}

#[test]
fn a_completion_takes_no_time() {
    // The first one reads the program from the disk.
    offered(&["assetfs", "wait", ""]);
    let begun = Instant::now();
    offered(&["assetfs", "wait", ""]);
    let needed = begun.elapsed();
    assert!(needed < Duration::from_secs(4), "{needed:?}");
}

#[test]
fn the_scripts_of_zsh_and_fish_are_valid() {
    for (shell, check) in [("zsh", "-n"), ("fish", "--no-execute")] {
        if !has_program_or_skips(shell) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("script");
        let script = Command::new(ASSETFS).args(["completions", shell]).output();
        std::fs::write(&file, script.unwrap().stdout).unwrap();
        let status = Command::new(shell).arg(check).arg(&file).status();
        assert!(status.unwrap().success(), "{shell}");
    }
}

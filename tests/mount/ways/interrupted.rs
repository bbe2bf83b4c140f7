//! Interrupted copies: nothing is sent until the copy is repeated or committed by hand, as far as references and the
//! ends of files show this.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::models::model_with_buffer;
use super::tools::{Tool, assert_arrived, tools, tree};
use crate::needs_fuse;
use crate::support::{Fixture, assetfs, exists, read, run, text};

/// The size of the file in the middle of which the tools are interrupted.
const LARGE_LEN_BYTES: u64 = 48 << 20;
/// The bytes that have arrived then.
const CUT_AT_BYTES: u64 = 1 << 20;

/// Tools that can repeat a copy over existing files.
const TOOLS: &[Tool] = tools! {
    "cp-r" ["cp"] r#"exec cp -rT "$SRC" "$DST""#
    "cp-a" ["cp"] r#"exec cp -aT "$SRC" "$DST""#
    "mv" ["mv"] r#"[ -e moved ] || cp -r "$SRC" moved; exec mv moved/* "$(mkdir -p "$DST"; echo "$DST")""#
    "rsync-a" ["rsync"] r#"exec rsync -a "$SRC/" "$DST""#
    "rsync-inplace" ["rsync"] r#"exec rsync -a --inplace "$SRC/" "$DST""#
    "tar" ["tar"] r#"mkdir -p "$DST"; tar -C "$SRC" -cf - . | tar -C "$DST" -xf -"#
    "unzip" ["zip" "unzip"] r#"[ -e all.zip ] || (cd "$SRC"; zip -0qr "$TMP/part.zip" .; mv "$TMP/part.zip" "$TMP/all.zip"); exec unzip -qo all.zip -d "$DST""#
    "install" ["install"] r#"mkdir -p "$DST"; exec install -m 644 "$SRC"/* "$DST""#
    "dd" ["dd"] r#"mkdir -p "$DST"; cd "$SRC"; for f in *; do dd if="$f" of="$DST/$f" bs=16k status=none; done"#
    "redirection" ["bash"] r#"mkdir -p "$DST"; cd "$SRC"; for f in *; do cat "$f" > "$DST/$f"; done"#
    "shutil" ["python3"] r#"exec python3 -c '
import os, shutil
shutil.copytree(os.environ["SRC"], os.environ["DST"], dirs_exist_ok=True)'"#
    "rclone" ["rclone"] r#"exec rclone copy "$SRC" "$DST""#
    "gio-copy" ["gio"] r#"mkdir -p "$DST"; cd "$SRC"; for f in *; do gio copy "$f" "$DST/$f"; done"#
    "gio-save" ["gio"] r#"mkdir -p "$DST"; cd "$SRC"; for f in *; do gio save "$DST/$f" < "$f"; done"#
};

/// The size of all files in a folder.
fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    let len = |entry: fs::DirEntry| entry.metadata().map_or(0, |metadata| metadata.len());
    entries.flatten().map(len).sum()
}

/// Starts the tool and ends it with the signal in the middle of the large file. Returns false if the tool was faster.
fn cut_off(tool: &Tool, signal: &str, source: &Path, target: &Path, own: &Path) -> bool {
    let mut command = tool.command(source, target, own);
    let mut child = command
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash starts");
    let start = Instant::now();
    while bytes_in(target) < CUT_AT_BYTES {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} does nothing",
            tool.name
        );
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
    }
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args([signal, "--", &group]).output();
    let ended = child.wait().expect("a child");
    killed.is_ok_and(|output| output.status.success()) && !ended.success()
}

fn every_tool_is_cut_off_by(signal: &str) {
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("source");
    model_with_buffer(&source, LARGE_LEN_BYTES);
    let expected = tree(&source, &[]);
    let mut cut = Vec::new();
    for tool in TOOLS.iter().filter(|tool| tool.is_here()) {
        let target = fixture.path("rawmodels").join(tool.name);
        let own = fixture.scratch.path().join(tool.name);
        let was_cut = (0..5).any(|_| {
            if exists(&target) {
                run(Command::new("rm").arg("-rf").args([&target, &own]));
            }
            cut_off(tool, signal, &source, &target, &own)
        });
        assert!(
            was_cut,
            "{} always ends before it can be cut off",
            tool.name
        );
        cut.push(tool);
    }
    // Long enough for every complete draft to be sent.
    std::thread::sleep(Duration::from_secs(2));
    let sent: Vec<_> = fixture.service.assets();
    assert!(sent.is_empty(), "{signal}: half a copy was sent: {sent:#?}");
    for tool in cut {
        let state = fixture.path(&format!("rawmodels/{}/.assetfs/state", tool.name));
        let state = text(&read(state));
        let unsent = [
            "incomplete",
            "draft",
            "no_model",
            "temporary_name",
            "needs_files",
            "missing_files",
            "waiting",
        ];
        assert!(unsent.contains(&state.trim()), "{}: {state}", tool.name);
        let target = fixture.path("rawmodels").join(tool.name);
        let own = fixture.scratch.path().join(tool.name);
        tool.run_well(&source, &target, &own);
        // The temporary file of a killed rsync blocks the draft, as intended.
        for left in fs::read_dir(&target).unwrap().flatten() {
            if left.file_name().to_string_lossy().starts_with('.') {
                fs::remove_file(left.path()).unwrap();
            }
        }
        assert_arrived(&fixture, tool.name, &expected);
    }
}

#[test]
fn a_copy_that_is_interrupted_is_not_sent_until_it_is_repeated() {
    needs_fuse!();
    every_tool_is_cut_off_by("-INT");
}

#[test]
fn a_copy_that_is_killed_is_not_sent_until_it_is_repeated() {
    needs_fuse!();
    every_tool_is_cut_off_by("-KILL");
}

#[test]
fn a_copy_that_is_killed_can_be_sent_by_hand() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("source");
    model_with_buffer(&source, LARGE_LEN_BYTES);
    let target = fixture.path("rawmodels/half");
    let own = fixture.scratch.path().join("own");
    let tool = &TOOLS[0];
    while !cut_off(tool, "-KILL", &source, &target, &own) {
        run(Command::new("rm").arg("-rf").arg(&target));
    }
    // Without the model file there would be nothing to send.
    fs::copy(source.join("large.gltf"), target.join("large.gltf")).unwrap();
    let synced = Command::new("sync").arg(&target).output().unwrap();
    let said = text(&synced.stderr);
    assert!(
        said.contains("Invalid argument"),
        "sync of half a copy: {said}"
    );
    assert!(fixture.service.assets().is_empty());
    run(assetfs("commit --force", &target));
    assert_eq!(fixture.only_asset()["name"], "half");
}

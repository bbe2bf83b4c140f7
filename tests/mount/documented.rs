//! The documents: every command of README.md, docs/*.md and the help runs on a fresh mount.

use std::path::Path;
use std::process::Command;

use crate::support::{ASSETFS, text};
use crate::{needs_fuse, needs_program, needs_root};

#[test]
fn every_command_of_the_documents_works_on_a_fresh_mount() {
    needs_fuse!();
    needs_root!();
    for program in ["unshare", "jq"] {
        needs_program!(program);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check/commands");
    let output = Command::new(script)
        .env("ASSETFS", ASSETFS)
        .output()
        .expect("the script runs");
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{said}");
    let ran = out.lines().filter(|line| line.contains(" ms  ")).count();
    assert!(ran >= 40, "only {ran} commands ran: {out}{said}");
}

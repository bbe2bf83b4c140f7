//! Sets `ASSETFS_VERSION`, which `assetfs --version` prints: the version of the package, in release builds with the
//! commit and its date. They come from `ASSETFS_BUILD` ("3f2a1bc 2026-05-06", for packages that are built from a
//! tarball), else from git; without both the version stands alone. Other builds leave them out, so that a commit does
//! not build everything again.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ASSETFS_BUILD");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let given = env::var("ASSETFS_BUILD").ok();
    let build = given.filter(|text| !text.trim().is_empty()).or_else(|| {
        let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
        is_release.then(commit).flatten()
    });
    match build {
        Some(build) => println!(
            "cargo::rustc-env=ASSETFS_VERSION={version} ({})",
            build.trim()
        ),
        None => println!("cargo::rustc-env=ASSETFS_VERSION={version}"),
    }
}

/// Hash and date of the commit; `None` without git, and if the sources are not the top of a repository.
fn commit() -> Option<String> {
    let dir = env::var("CARGO_MANIFEST_DIR").ok()?;
    let top = git(&dir, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(&dir).canonicalize().ok()? {
        return None;
    }
    let log = git(&dir, &["rev-parse", "--git-path", "logs/HEAD"])?;
    let log = Path::new(&dir).join(log);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&dir, &["log", "-1", "--format=%h %cs"])
}

fn git(dir: &str, args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

//! The page and the viewer in headless Chromium: `drive.mjs` uses them as an artist would.
//!
//! `scripts/test` installs what drives the browser; `scripts/check/page` runs this and keeps the screenshots.

use std::path::{Path, PathBuf};
use std::process::Command;

use assetfs_engine::sample::{ChairDetail, write_chair_with};

use super::skip::{has_program_or_skips, skipped};
use super::square_glb::changed_glb;
use super::support::{Fixture, engine, needs_own_storage};

/// The folder with the packages that drive and judge the browser.
fn tools() -> Option<PathBuf> {
    let tools = std::env::var_os("ASSETFS_TEST_TOOLS").map(PathBuf::from);
    for package in ["playwright-core", "axe-core"] {
        let there = tools
            .as_ref()
            .map(|tools| tools.join("node_modules").join(package));
        if !there.is_some_and(|path| path.exists()) {
            skipped(&format!("{package} is not installed"));
            return None;
        }
    }
    tools
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artist_signs_in_uploads_optimizes_compares_and_embeds() {
    if !has_program_or_skips("chromium") || !has_program_or_skips("node") {
        return;
    }
    let Some(tools) = tools() else { return };
    // A browser needs a CORS rule of the bucket; examples/s3.rs has none.
    if needs_own_storage() {
        return;
    }
    let service = Fixture::with("", |config| config.worker = engine()).await;
    let models = tempfile::tempdir().unwrap();
    write_chair_with(&models.path().join("chair"), ChairDetail::Small).unwrap();
    std::fs::write(models.path().join("square.glb"), changed_glb(|_| {})).unwrap();
    let token = models.path().join("token");
    std::fs::write(&token, service.service.token()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/browser/drive.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(tools).arg(service.url("")).arg(token);
    node.arg(models.path());
    node.args(std::env::var_os("ASSETFS_SCREENSHOTS"));
    let output = tokio::task::spawn_blocking(move || node.output());
    let output = output.await.unwrap().expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.ends_with("everything worked\n"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

//! The page and the viewer in headless Chromium: `drive.mjs` uses them as an artist would, `gallery.mjs` measures a large gallery.
//!
//! `scripts/test` installs what drives the browser; `scripts/check/page` runs this and keeps the screenshots, `scripts/bench/page`
//! measures.

use std::path::{Path, PathBuf};
use std::process::Command;

use zip::CompressionMethod;

use assetfs_engine::sample::{ChairDetail, write_chair_with};

use super::skip::{has_program_or_skips, skipped};
use super::square_glb::changed_glb;
use super::support::{Fixture, engine};
use super::zips::zip_of;
use crate::needs_own_storage;

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
    needs_own_storage!();
    let service = Fixture::with("", |config| config.worker = engine()).await;
    let models = tempfile::tempdir().unwrap();
    write_chair_with(&models.path().join("chair"), ChairDetail::Small).unwrap();
    std::fs::write(models.path().join("square.glb"), changed_glb(|_| {})).unwrap();
    // The model is below a folder, beside another one that is left out.
    let square = changed_glb(|_| {});
    let members = [
        ("set/square.glb", square.as_slice()),
        ("set/lower/small.glb", square.as_slice()),
        ("__MACOSX/._square.glb", b"x"),
    ];
    let packed = zip_of(&members, CompressionMethod::Deflated);
    std::fs::write(models.path().join("packed.zip"), packed).unwrap();
    let token = models.path().join("token");
    std::fs::write(&token, service.service.token()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/browser/drive.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(tools).arg(service.url("")).arg(token);
    node.arg(models.path());
    let link = service.service.sign_in_link().await.unwrap();
    node.env(
        "SIGN_IN_LINK",
        link.expect("the service is on this machine"),
    );
    node.args(std::env::var_os("ASSETFS_SCREENSHOTS"));
    let said = said(node).await;
    assert!(said.ends_with("everything worked\n"), "{said}");
}

/// What a script says that succeeds.
async fn said(mut node: Command) -> String {
    let output = tokio::task::spawn_blocking(move || node.output());
    let output = output.await.unwrap().expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaint}");
    said
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; scripts/bench/page runs it"]
#[expect(clippy::print_stdout, reason = "the figures are the result")]
async fn how_long_a_gallery_of_2000_models_takes() {
    let tools = tools().expect("the tools are installed");
    let service = Fixture::start().await;
    service.service.add_sample_assets(2_000).await.unwrap();
    let token = service.dir.path().join("token-of-the-page");
    std::fs::write(&token, service.service.token()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/browser/gallery.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(tools).arg(service.url("")).arg(token);
    println!("{}", said(node).await);
}

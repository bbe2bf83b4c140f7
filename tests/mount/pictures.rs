//! Pictures for file managers: the service's thumbnails on a mount, without a byte of the models.

use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use crate::fault_server::{Asked, FileServer};
use crate::needs_fuse;
use crate::support::{Fixture, assetfs, fails, run, small_chair, wait_until};
use crate::ways::models::triangle_glb;

const MODELS: usize = 200;

/// Draws the picture of a path as a file manager asks for it; returns its pixels.
fn picture(fixture: &Fixture, path: &Path) -> image::RgbImage {
    let out = fixture.scratch.path().join("picture.png");
    run(assetfs("thumbnail -s 64", path).arg(&out));
    let picture = image::open(&out).expect("a picture").into_rgb8();
    fs::remove_file(out).expect("it was written");
    picture
}

/// A thumbnail in one colour.
fn thumbnail(colour: [u8; 3]) -> Vec<u8> {
    let mut jpeg = Cursor::new(Vec::new());
    image::RgbImage::from_pixel(320, 320, image::Rgb(colour))
        .write_to(&mut jpeg, image::ImageFormat::Jpeg)
        .expect("it fits into memory");
    jpeg.into_inner()
}

fn is_red(picture: &image::RgbImage) -> bool {
    let [red, green, blue] = picture.get_pixel(32, 32).0;
    (picture.width(), picture.height()) == (64, 64) && red > 200 && green < 50 && blue < 50
}

fn folders(fixture: &Fixture) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture.path("rawmodels")).expect("a listing");
    entries.map(|entry| entry.expect("a name").path()).collect()
}

#[test]
fn opening_a_folder_of_200_models_downloads_200_thumbnails_and_no_byte_of_a_model() {
    needs_fuse!();
    let storage = FileServer::start();
    storage.put("thumb.jpg", &thumbnail([255, 0, 0]));
    storage.put("sample.glb", b"glTF\x02\0\0\0\x0c\0\0\0");
    let sample_assets = MODELS.to_string();
    let serve = [
        "--files-url",
        &storage.url(),
        "--sample-assets",
        &sample_assets,
    ];
    let fixture = Fixture::with(&serve, &[]);
    let folders = folders(&fixture);
    assert_eq!(folders.len(), MODELS);
    for folder in &folders {
        // File managers count what is in a folder.
        let names = fs::read_dir(folder).expect("a listing").count();
        assert!(names > 1, "{}", folder.display());
        assert!(is_red(&picture(&fixture, folder)), "{}", folder.display());
    }
    let asked = storage.server.asked();
    for request in &asked {
        assert!(request.path().ends_with("/thumb.jpg"), "{}", request.path());
    }
    // One byte of each is read for its size.
    let of_contents = |asked: &[Asked]| -> Vec<String> {
        let read = asked
            .iter()
            .filter(|it| it.header("range") != Some("bytes=0-0"));
        read.map(|it| it.path().to_owned()).collect()
    };
    let read = of_contents(&asked);
    assert_eq!(read.len(), MODELS, "each is fetched once");
    assert_eq!(read.iter().collect::<BTreeSet<_>>().len(), MODELS);
    assert!(asked.len() <= 2 * MODELS, "{}", asked.len());
    // The model in the folder has the same picture. Looking at it asks for its size, not for its content.
    for folder in folders.iter().step_by(20) {
        assert!(is_red(&picture(&fixture, &folder.join("sample.glb"))));
    }
    assert_eq!(of_contents(&storage.server.asked()), read);
}

#[test]
fn the_picture_is_no_listed_attribute_so_no_copy_fetches_it() {
    needs_fuse!();
    let storage = FileServer::start();
    storage.put("thumb.jpg", &thumbnail([255, 0, 0]));
    storage.put("sample.glb", b"glTF\x02\0\0\0\x0c\0\0\0");
    let serve = ["--files-url", &storage.url(), "--sample-assets", "1"];
    let fixture = Fixture::with(&serve, &[]);
    let folder = folders(&fixture).remove(0);
    let mut names = vec![0; 4096];
    for path in [folder.join("sample.glb"), folder] {
        let len = rustix::fs::listxattr(&path, &mut names[..]).expect("a list");
        let listed = String::from_utf8_lossy(&names[..len]).into_owned();
        assert!(listed.contains("user."), "{listed:?}");
        assert!(!listed.contains("thumbnail"), "{listed:?}");
        assert!(is_red(&picture(&fixture, &path)));
    }
}

#[test]
fn a_draft_is_drawn_from_the_files_that_were_copied_in() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "1h"]);
    let folder = fixture.path("rawmodels/triangle");
    fs::create_dir(&folder).unwrap();
    fails(
        assetfs("thumbnail", &folder).arg(fixture.scratch.path().join("x.png")),
        1,
    );
    fs::write(folder.join("triangle.glb"), triangle_glb("triangle")).unwrap();
    for path in [folder.join("triangle.glb"), folder] {
        let drawn = picture(&fixture, &path);
        assert!(drawn.pixels().any(|pixel| pixel != drawn.get_pixel(0, 0)));
    }
}

/// Whether the lower right corner has the sign of what waits, which is amber.
fn has_sign(picture: &image::RgbImage) -> bool {
    picture.pixels().any(|pixel| {
        let [red, green, blue] = pixel.0;
        red > 200 && (110..150).contains(&green) && blue < 20
    })
}

#[test]
fn a_draft_that_waits_has_a_sign_and_its_folder_has_another_time_as_long_as_it_waits() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = small_chair(fixture.scratch.path());
    let folder = fixture.path("rawmodels/lamp");
    let modified = || fs::metadata(&folder).unwrap().modified().unwrap();
    let set_time = || {
        run(Command::new("touch")
            .args(["-d", "@1000000000"])
            .arg(&folder))
    };
    let own = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::create_dir(&folder).unwrap();
    for file in fs::read_dir(&source).unwrap() {
        let file = file.unwrap();
        if file.path().extension().is_none_or(|it| it != "bin") {
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
    set_time();
    let state = || fs::read_to_string(folder.join(".assetfs/state")).unwrap();
    wait_until("it waits for its buffer", || {
        state().trim() == "needs_files"
    });
    let begun = modified();
    assert!(
        begun > own,
        "file managers would keep the picture without a sign"
    );
    assert_eq!(modified(), begun);
    assert!(has_sign(&picture(&fixture, &folder)));
    let copied = run(Command::new("sh").arg("-c").arg(format!(
        "cp {}/*.bin {}",
        source.display(),
        folder.display()
    )));
    assert_eq!(copied, "");
    set_time();
    fixture.wait("rawmodels/lamp");
    assert_eq!(modified(), own);
    // The service of this test makes no pictures. The files of the draft may be there a moment longer; then they are drawn.
    let out = fixture.scratch.path().join("x.png");
    let drawn = assetfs("thumbnail", &folder).arg(&out).output().unwrap();
    let picture = drawn
        .status
        .success()
        .then(|| image::open(&out).unwrap().into_rgb8());
    assert!(!picture.is_some_and(|it| has_sign(&it)));
}

#[test]
fn a_model_that_failed_has_a_sign_instead_of_no_picture() {
    needs_fuse!();
    let fixture = Fixture::new();
    let mut damaged = triangle_glb("triangle");
    damaged[24..60].fill(b'{');
    fs::write(fixture.path("rawmodels/broken.glb"), damaged).unwrap();
    let waited = fixture.try_wait("rawmodels/broken");
    assert!(!waited.status.success());
    let picture = picture(&fixture, &fixture.path("rawmodels/broken"));
    let is_red = |pixel: &image::Rgb<u8>| pixel.0[0] > 180 && pixel.0[1] < 50;
    assert!(picture.pixels().any(is_red));
}

#[test]
fn the_service_s_picture_takes_the_place_of_the_drawn_one_when_the_model_is_complete() {
    needs_fuse!();
    let fixture = Fixture::with_pictures();
    fs::write(
        fixture.path("rawmodels/triangle.glb"),
        triangle_glb("triangle"),
    )
    .unwrap();
    fixture.wait("rawmodels/triangle");
    let thumbnail = image::open(fixture.path("rawmodels/triangle/analysis/thumb.jpg")).unwrap();
    let thumbnail = thumbnail.resize(64, 64, image::imageops::FilterType::Triangle);
    for path in [
        "rawmodels/triangle",
        "rawmodels/triangle/triangle.glb",
        "rawmodels/triangle.glb",
    ] {
        assert_eq!(
            picture(&fixture, &fixture.path(path)),
            thumbnail.to_rgb8(),
            "{path}"
        );
    }
}

#[test]
fn a_model_without_a_picture_is_not_downloaded_for_one() {
    needs_fuse!();
    // Without pictures the service makes no thumbnail.
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&[]);
    fs::write(
        fixture.path("rawmodels/triangle.glb"),
        triangle_glb("triangle"),
    )
    .unwrap();
    fixture.wait("rawmodels/triangle");
    let elsewhere = fixture.second_machine();
    let out = fixture.scratch.path().join("x.png");
    for path in ["rawmodels/triangle", "rawmodels/triangle/triangle.glb"] {
        let said = fails(
            assetfs("thumbnail", elsewhere.root().join(path)).arg(&out),
            1,
        );
        assert!(said.contains("the service has no picture"), "{said}");
    }
    let status = fs::read(elsewhere.root().join(".assetfs/status.json")).unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    assert_eq!(
        status["cache"]["used_bytes"].as_u64(),
        Some(0),
        "{status:#}"
    );
}

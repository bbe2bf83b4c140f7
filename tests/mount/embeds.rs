//! Embeds in a browser: created by `cp`, opened as pages, and safe with any text.
//!
//! `scripts/check/embeds` runs these tests and keeps the screenshots.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::{Browser, Trap};
use crate::support::{ASSETFS, Fixture, assetfs, exists, run, shell, text, wait_until};
use crate::{needs_fuse, needs_program};

/// The service need not render pictures: the browser does.
fn optimized(fixture: &Fixture, preset: &str) -> String {
    fixture.add_chair();
    let text = fixture.scratch.path().join("small.json");
    fs::write(&text, preset).unwrap();
    fs::copy(&text, fixture.path("rawmodels/chair/optimize/small.json")).unwrap();
    run(assetfs(
        "wait",
        fixture.path("rawmodels/chair/optimize/small.json"),
    ));
    shell(&fixture.root(), "ls rapidmodels").trim().to_owned()
}

/// Copies a viewer text into a folder of embeds; returns the path of the page in `embeds/`.
fn embed(fixture: &Fixture, folder: &str, name: &str, viewer: &Value) -> String {
    let text = fixture.scratch.path().join(format!("{name}.json"));
    fs::write(&text, viewer.to_string()).unwrap();
    run(Command::new("cp").args([&text, &fixture.path(folder)]));
    let link = fixture.path(&format!("{folder}/{name}.html"));
    wait_until("the embed is made", || exists(&link));
    let page = fs::canonicalize(link).unwrap();
    url::Url::from_file_path(page).unwrap().into()
}

/// Shows a page until the model is drawn; returns the picture. It is also saved in the folder `ASSETFS_SCREENSHOTS`.
fn drawn(browser: &mut Browser, url: &str, name: &str) -> image::RgbImage {
    browser.go(url);
    browser.until(
        "location.protocol === 'http:' && document.getElementById('model')?.loaded === true",
    );
    browser.until("document.getElementById('model').modelIsVisible === true");
    // The camera stops moving, and late requests are sent.
    browser.listen(Duration::from_secs(2));
    let png = browser.screenshot();
    if let Some(dir) = std::env::var_os("ASSETFS_SCREENSHOTS") {
        fs::write(Path::new(&dir).join(format!("{name}.png")), &png).unwrap();
    }
    image::load_from_memory(&png).unwrap().to_rgb8()
}

/// The number of pixels that differ clearly from the corner, and of their colours.
fn pixels_drawn(picture: &image::RgbImage) -> (usize, usize) {
    let ground = *picture.get_pixel(2, 2);
    let differs = |pixel: &&image::Rgb<u8>| (0..3).any(|at| pixel[at].abs_diff(ground[at]) > 24);
    let drawn: Vec<_> = picture.pixels().filter(differs).collect();
    let colours: std::collections::HashSet<_> = drawn.iter().map(|pixel| pixel.0).collect();
    (drawn.len(), colours.len())
}

fn assert_stayed_here(browser: &Browser, fixture: &Fixture) {
    let service = &fixture.service.base_url;
    for url in &browser.requests {
        let is_here = ["data:", "blob:", "file://", service.as_str()]
            .iter()
            .any(|start| url.starts_with(start));
        assert!(is_here, "{url}");
    }
    assert_eq!(
        browser.ways_out(),
        Vec::<String>::new(),
        "requests that wanted to leave the machine"
    );
}

const GLB: &str = r#"{"schema":"2.5","limits":{"faces":{"percentage":50}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;

const DRACO: &str = r#"{"schema":"2.5","limits":{"faces":{"percentage":50}},
"compressionAndExport":{"fileExports":[{"fileType":"glb","meshCompressionMethod":"draco"}]}}"#;

const KTX2: &str = r#"{"schema":"2.5","limits":{"faces":{"percentage":50}},
"compressionAndExport":{"fileExports":[{"fileType":"glb","textureFormat":{
"baseColor":"ktx2","normal":"ktx2","orm":"ktx2","emissive":"ktx2"}}]}}"#;

#[test]
fn an_embed_made_by_cp_shows_the_model_in_a_browser_without_other_hosts() {
    needs_fuse!();
    needs_program!("chromium");
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, GLB);
    let folder = format!("rapidmodels/{rapid}/embeds");
    let plain = embed(&fixture, &folder, "plain", &json!({}));
    let styled = json!({"name": "Oak chair", "config": {
        "backgroundIsColor": "true", "plainBackgroundColor": "#203040", "shadowToggle": "true",
        "enableSimpleMeasurement": "true", "displayUnits": "cm,in",
        "companyLogo": "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSI4MCIgaGVpZ2h0PSI0MCI+PHJlY3Qgd2lkdGg9IjgwIiBoZWlnaHQ9IjQwIiBmaWxsPSIjZmY4ODAwIi8+PC9zdmc+",
        "companyLink": "https://example.com/"}});
    let styled = embed(&fixture, &folder, "styled", &styled);

    let mut browser = Browser::start();
    let picture = drawn(&mut browser, &plain, "plain");
    let (drawn_pixels, colours) = pixels_drawn(&picture);
    assert!(
        drawn_pixels > 10_000 && colours > 200,
        "{drawn_pixels} pixels in {colours} colours"
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_stayed_here(&browser, &fixture);
    assert!(browser.requests.iter().any(|url| url.contains(".glb")));

    let picture = drawn(&mut browser, &styled, "styled");
    assert_eq!(
        picture.get_pixel(400, 5).0,
        [0x20, 0x30, 0x40],
        "the background that was asked for"
    );
    assert!(pixels_drawn(&picture).0 > 10_000);
    let note = browser.value("document.getElementById('note').textContent");
    assert!(note.as_str().unwrap().contains(" cm"), "{note}");
    assert_eq!(browser.value("document.title"), json!("Oak chair"));
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_stayed_here(&browser, &fixture);
}

#[test]
fn embed_prints_the_address_of_a_result_and_makes_one_embed() {
    needs_fuse!();
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, GLB);
    let rapid = fixture.path(&format!("rapidmodels/{rapid}"));
    let asked = |path: &Path| -> Value {
        let output = run(Command::new(ASSETFS)
            .args(["embed", "--json", "-q"])
            .arg(path));
        serde_json::from_str(&output).unwrap()
    };
    let first = asked(&rapid);
    assert_eq!(first["made"], json!(true));
    let url = first["url"].as_str().unwrap();
    // Each of several has its line, and one that is missing keeps no other from it.
    let output = Command::new(ASSETFS)
        .args(["embed", "--json", "-q"])
        .args([&fixture.path("rapidmodels/none"), &rapid])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let lines = crate::json_schema::check_lines("embed", &text(&output.stdout));
    assert_eq!(lines[0]["state"], json!("failed"));
    assert_eq!(lines[1]["url"], first["url"]);
    // The list of results has it, too.
    wait_until("the embed is listed", || {
        let listed = run(Command::new(ASSETFS)
            .args(["list", "--results", "--json"])
            .arg(fixture.root()));
        let lines = crate::json_schema::check_lines("list", &listed);
        lines[0]["embeds"][0]["url"] == first["url"]
    });
    assert!(url.starts_with(&fixture.service.base_url), "{first}");
    let snippet = first["snippet"].as_str().unwrap();
    assert!(
        snippet.starts_with(&format!("<iframe src=\"{url}\"")),
        "{first}"
    );
    // The same model by other paths, and the page itself: the same embed.
    let page = Path::new(first["page"].as_str().unwrap());
    let by_text = fixture.path("rawmodels/chair/optimize/small.json");
    for path in [
        &rapid,
        &by_text,
        &by_text.with_extension(""),
        &page.to_owned(),
    ] {
        let again = asked(path);
        assert_eq!(
            (&again["url"], &again["made"]),
            (&first["url"], &json!(false))
        );
    }
    assert_eq!(fs::read_dir(fixture.path("embeds")).unwrap().count(), 1);
    // The page has the name of what it shows.
    let name = page.file_name().unwrap().to_str().unwrap();
    let model = rapid.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, format!("{model}.html"));
    // A model that no viewer can show, and what is no model.
    for (path, code, said) in [
        ("rawmodels/chair", 1, "is no glb, which a viewer needs"),
        ("presets", 2, "is neither a model nor the page of an embed"),
    ] {
        let output = assetfs("embed", fixture.path(path)).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{path}");
        let errors = text(&output.stderr);
        assert!(errors.contains(said), "{errors}");
    }
}

#[test]
fn an_embed_whose_page_was_removed_is_made_anew() {
    needs_fuse!();
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, GLB);
    let rapid = fixture.path(&format!("rapidmodels/{rapid}"));
    let asked = || -> Value {
        let output = run(Command::new(ASSETFS)
            .args(["embed", "--json", "-q"])
            .arg(&rapid));
        serde_json::from_str(&output).unwrap()
    };
    let first = asked();
    fs::remove_file(first["page"].as_str().unwrap()).unwrap();
    let second = asked();
    assert_eq!(second["made"], json!(true));
    assert_ne!(second["url"], first["url"]);
}

#[test]
fn several_that_embed_a_model_at_once_make_one_embed() {
    needs_fuse!();
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, GLB);
    let rapid = fixture.path(&format!("rapidmodels/{rapid}"));
    let asked_at_once = || -> Vec<Value> {
        let mut command = Command::new(ASSETFS);
        command.args(["embed", "--json", "-q"]).arg(&rapid);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let asking: Vec<_> = (0..4).map(|_| command.spawn().unwrap()).collect();
        let answers = asking.into_iter().map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            serde_json::from_slice(&output.stdout).unwrap()
        });
        answers.collect()
    };
    let mut removed: Vec<Value> = Vec::new();
    // The last rounds make it anew, because its page was removed.
    for _ in 0..4 {
        let answers = asked_at_once();
        assert!(
            answers.iter().all(|it| it["url"] == answers[0]["url"]),
            "{answers:?}"
        );
        assert!(!removed.contains(&answers[0]["url"]), "{answers:?}");
        let made = answers.iter().filter(|it| it["made"] == json!(true));
        assert_eq!(made.count(), 1, "{answers:?}");
        assert_eq!(fs::read_dir(fixture.path("embeds")).unwrap().count(), 1);
        fs::remove_file(answers[0]["page"].as_str().unwrap()).unwrap();
        removed.push(answers[0]["url"].clone());
    }
}

#[test]
fn a_model_with_ktx2_textures_is_shown_without_asking_anybody_else() {
    needs_fuse!();
    needs_program!("chromium");
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, KTX2);
    let folder = format!("rapidmodels/{rapid}/embeds");
    let page = embed(&fixture, &folder, "ktx2", &json!({}));
    let mut browser = Browser::start();
    let picture = drawn(&mut browser, &page, "ktx2");
    let (drawn_pixels, colours) = pixels_drawn(&picture);
    assert!(
        drawn_pixels > 10_000 && colours > 200,
        "{drawn_pixels} pixels in {colours} colours"
    );
    let is_asked = |url: &String| url.contains("basis_transcoder.wasm");
    assert!(
        browser.requests.iter().any(is_asked),
        "{:?}",
        browser.requests
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_stayed_here(&browser, &fixture);
}

#[test]
fn a_draco_compressed_model_is_decoded_without_asking_anybody_else() {
    needs_fuse!();
    needs_program!("chromium");
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, DRACO);
    let page = embed(
        &fixture,
        &format!("rapidmodels/{rapid}/embeds"),
        "draco",
        &json!({}),
    );
    let mut browser = Browser::start();
    let picture = drawn(&mut browser, &page, "draco");
    assert!(pixels_drawn(&picture).0 > 10_000);
    assert!(
        browser
            .requests
            .iter()
            .any(|url| url.contains("draco_decoder.wasm")),
        "{:?}",
        browser.requests
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_stayed_here(&browser, &fixture);
}

#[test]
fn a_hostile_viewer_text_does_nothing_in_a_browser() {
    needs_fuse!();
    needs_program!("chromium");
    let fixture = Fixture::new();
    let rapid = optimized(&fixture, GLB);
    let trap = Trap::set();
    let elsewhere = format!("http://127.0.0.1:{}/", trap.port);
    let script = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(2)>";
    let hostile = json!({
        "name": format!("{script}\" autofocus onfocus=\"alert(3)"),
        "config": {
            "companyLogo": "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoNCkiPjxzY3JpcHQ+YWxlcnQoNSk8L3NjcmlwdD48L3N2Zz4=",
            "companyLink": "javascript:alert(6)",
            "companyLogoCSS": format!("width:100px}} * {{background:url({elsewhere}css)}} </style>{script}"),
            "productLogo": format!("{elsewhere}logo.png"),
            "productLink": " java\tscript:alert(7)",
            "renderCanvasCSS": format!("background:url({elsewhere}canvas); position:fixed"),
            "interactiveToolsCSS": format!("x:expression(alert(8));@import '{elsewhere}import'"),
            "plainBackgroundColor": format!("#fff;}}@import url({elsewhere}colour);"),
            "environmentURL": format!("{elsewhere}sky.hdr"),
            "baseUnit": format!("\">{script}"),
            "displayUnits": format!("cm,\">{script}"),
            "displayUnit": "constructor",
            "animationSpeed": "1\" onload=\"alert(9)",
            "enableSimpleMeasurement": "true",
            "__proto__": "x",
            script: script,
        },
    });
    let page = embed(
        &fixture,
        &format!("rapidmodels/{rapid}/embeds"),
        "hostile",
        &hostile,
    );
    let mut browser = Browser::start();
    let picture = drawn(&mut browser, &page, "hostile");
    assert!(
        pixels_drawn(&picture).0 > 10_000,
        "the model is still shown"
    );
    // The logo is where links would be shown.
    browser.click(30.0, 30.0);
    browser.listen(Duration::from_secs(1));
    assert_eq!(browser.dialogs, Vec::<String>::new());
    assert_eq!(browser.other_pages, 0, "no window opened");
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_eq!(
        trap.visits(),
        Vec::<String>::new(),
        "nothing was loaded from elsewhere"
    );
    assert_stayed_here(&browser, &fixture);
    let links = browser.value("[...document.links].map((link) => link.href).join(' ')");
    assert_eq!(links, json!(""), "no link survived");
    let ours = "[...document.scripts].every((it) => it.src.startsWith(location.origin + '/embed/assets/'))";
    assert_eq!(
        browser.value(ours),
        json!(true),
        "no script but those of the page"
    );
    // The page of the drive is as safe as that of the service.
    let path = url::Url::parse(&page).unwrap().to_file_path().unwrap();
    let html = fs::read_to_string(path).unwrap();
    assert!(
        !html.contains("<script") && !html.contains("onerror=alert(2)>"),
        "{html}"
    );
}

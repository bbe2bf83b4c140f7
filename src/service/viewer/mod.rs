//! The viewer page of an embed: model-viewer with the settings of the embed, everything from here.
//!
//! Every value is escaped for its context, styles and links are checked, and a strict content security
//! policy is the second wall: no script but ours, no request but to this service and its storage.

mod settings;
mod style;

use crate::service::ids::random_name;
use settings::{Logo, ViewerSettings};

/// What a page shows.
#[derive(Debug)]
pub struct Exhibit<'a> {
    /// The name of the embed.
    pub name: &'a str,
    /// Where the glb is.
    pub model: &'a str,
    /// Where a usdz for phones is.
    pub usdz: Option<&'a str>,
    /// Where the thumbnail is.
    pub poster: Option<&'a str>,
    /// The viewer configuration as JSON text.
    pub config: &'a str,
    /// The origin of the storage, from which model and thumbnail come.
    pub storage: &'a str,
}

/// A page and its policy.
#[derive(Debug)]
pub struct Page {
    /// The document.
    pub html: String,
    /// The value of its `Content-Security-Policy`.
    pub policy: String,
}

/// A file that pages load: its bytes and its media type.
pub fn asset(name: &str) -> Option<(&'static [u8], &'static str)> {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    Some(match name {
        "model-viewer.min.js" => (include_bytes!("vendor/model-viewer.min.js"), SCRIPT),
        "draco_wasm_wrapper.js" => (include_bytes!("vendor/draco_wasm_wrapper.js"), SCRIPT),
        "draco_decoder.wasm" => (
            include_bytes!("vendor/draco_decoder.wasm"),
            "application/wasm",
        ),
        "before.js" => (include_bytes!("before.js"), SCRIPT),
        "ready.js" => (include_bytes!("ready.js"), SCRIPT),
        "viewer.js" => (include_bytes!("viewer.js"), SCRIPT),
        _ => return None,
    })
}

/// The style sheet in model-viewer's own template, by its hash; it changes with the vendored file.
const MODEL_VIEWER_STYLE: &str = "'sha256-PXtZZkJMMyc18o/DN1ZEFOJ2qEGq95IQbVaJFMOXOb0='";

/// Builds the page of an embed.
pub fn page(exhibit: &Exhibit<'_>) -> Page {
    let settings = ViewerSettings::read(exhibit.config);
    let nonce = random_name();
    let name = escaped(exhibit.name);
    let logos: String = settings.logos().iter().map(logo).collect();
    let html = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<link rel="icon" href="data:,">
<style nonce="{nonce}">{styles}</style>
<script src="assets/before.js"></script>
<script type="module" src="assets/model-viewer.min.js"></script>
<script type="module" src="assets/viewer.js"></script>
</head>
<body>
<model-viewer id="model" {attributes}></model-viewer>
{logos}<div id="tools"><button id="animation" hidden></button><select id="units" hidden></select><pre id="note"></pre></div>
</body>
</html>
"#,
        styles = styles(&settings),
        attributes = attributes(exhibit, &settings),
    );
    let storage = exhibit.storage;
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'nonce-{nonce}' {MODEL_VIEWER_STYLE}; \
         img-src 'self' data: blob: {storage}; connect-src 'self' data: blob: {storage}; \
         worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors *"
    );
    Page { html, policy }
}

/// The page of an embed whose model is still being made; it looks again by itself.
pub fn waiting_page(name: &str) -> Page {
    let name = escaped(name);
    let html = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="2">
<title>{name}</title>
<link rel="icon" href="data:,">
</head>
<body><p>{name} is being prepared …</p></body>
</html>
"#
    );
    let policy =
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors *";
    Page {
        html,
        policy: policy.to_owned(),
    }
}

/// A text as it may stand between tags and in quoted attributes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            control if control.is_control() => safe.push(' '),
            plain => safe.push(plain),
        }
    }
    safe
}

fn logo(logo: &Logo) -> String {
    let Logo { id, picture, .. } = logo;
    let picture = format!(r#"<img src="{}" alt="">"#, escaped(picture));
    match &logo.link {
        Some(link) => format!(
            r#"<a class="logo" id="{id}" href="{}" target="_blank" rel="noopener noreferrer">{picture}</a>
"#,
            escaped(link)
        ),
        None => format!(
            r#"<div class="logo" id="{id}">{picture}</div>
"#
        ),
    }
}

fn styles(settings: &ViewerSettings) -> String {
    let mut styles = String::from(
        "html,body{margin:0;height:100%;overflow:hidden;font:14px sans-serif}\
         model-viewer{width:100%;height:100%;background:#ffffff}\
         .logo{position:absolute}.logo img{max-width:160px;max-height:80px}\
         #company{top:16px;left:16px}#product{top:16px;right:16px}#three-d{bottom:16px;right:16px}\
         #tools{position:absolute;left:16px;bottom:16px}#note{margin:4px 0 0;font:inherit}",
    );
    if let Some(background) = background(settings) {
        styles.push_str(&format!("model-viewer{{background:{background}}}"));
    }
    if let Some(contrast) = settings.number("cameraContrast", 0.0..=4.0) {
        styles.push_str(&format!("model-viewer{{filter:contrast({contrast})}}"));
    }
    let own = [
        ("model-viewer", settings.style("renderCanvasCSS")),
        ("#tools", settings.style("interactiveToolsCSS")),
    ];
    let logos = settings.logos();
    let logo_styles = logos.iter().map(|logo| (logo.id, logo.style.clone()));
    for (selector, declarations) in own {
        styles.push_str(&format!("{selector}{{{declarations}}}"));
    }
    for (id, declarations) in logo_styles {
        styles.push_str(&format!("#{id}{{{declarations}}}"));
    }
    styles
}

fn background(settings: &ViewerSettings) -> Option<String> {
    if settings.is_on("backgroundIsGradient") {
        let top = settings.color("gradientBackgroundColor1")?;
        let bottom = settings.color("gradientBackgroundColor2")?;
        return Some(format!("linear-gradient({top},{bottom})"));
    }
    if settings.is_off("backgroundIsColor") {
        return Some("transparent".to_owned());
    }
    settings.color("plainBackgroundColor")
}

/// The attributes of the viewer element, each escaped.
fn attributes(exhibit: &Exhibit<'_>, settings: &ViewerSettings) -> String {
    let mut list: Vec<(&str, String)> = vec![
        ("src", exhibit.model.to_owned()),
        ("alt", exhibit.name.to_owned()),
        ("camera-controls", String::new()),
        ("touch-action", "pan-y".to_owned()),
        (
            "data-measure",
            settings.is_on("enableSimpleMeasurement").to_string(),
        ),
        (
            "data-coordinates",
            settings.is_on("enableCoordinateDisplay").to_string(),
        ),
        ("data-base-unit", settings.unit("baseUnit", "m").to_owned()),
        (
            "data-display-unit",
            settings.unit("displayUnit", "cm").to_owned(),
        ),
        ("data-display-units", settings.units("displayUnits")),
        (
            "data-animation",
            settings.is_on("enableAnimationControl").to_string(),
        ),
        (
            "data-animation-speed",
            settings
                .number("animationSpeed", 0.0..=100.0)
                .unwrap_or(1.0)
                .to_string(),
        ),
    ];
    let is_still = settings.number("animationSpeed", 0.0..=100.0) == Some(0.0);
    if !settings.is_off("enableAnimationControl") && !is_still {
        list.push(("autoplay", String::new()));
    }
    if let Some(poster) = exhibit.poster {
        list.push(("poster", poster.to_owned()));
    }
    if settings.is_on("enableARBtn") {
        list.push(("ar", String::new()));
        list.extend(exhibit.usdz.map(|usdz| ("ios-src", usdz.to_owned())));
    }
    list.extend(camera(settings));
    list.extend(light(settings));
    let written = list
        .iter()
        .map(|(name, value)| format!(r#"{name}="{}""#, escaped(value)));
    written.collect::<Vec<_>>().join(" ")
}

fn camera(settings: &ViewerSettings) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    if settings.is_off("cameraPanning") {
        list.push(("disable-pan", String::new()));
    }
    let exposure = settings.number("cameraExposure", 0.0..=10.0);
    list.extend(exposure.map(|exposure| ("exposure", exposure.to_string())));
    for (attribute, angle, zoom) in [
        (
            "min-camera-orbit",
            "cameraMinVerticalAngle",
            "cameraMinZoom",
        ),
        (
            "max-camera-orbit",
            "cameraMaxVerticalAngle",
            "cameraMaxZoom",
        ),
    ] {
        let angle = settings.number(angle, 0.0..=180.0);
        let zoom = settings.number(zoom, 0.01..=100.0);
        if angle.is_some() || zoom.is_some() {
            let angle = angle.map_or("auto".to_owned(), |angle| format!("{angle}deg"));
            let zoom = zoom.map_or("auto".to_owned(), |zoom| format!("{}%", zoom * 100.0));
            list.push((attribute, format!("auto {angle} {zoom}")));
        }
    }
    list
}

fn light(settings: &ViewerSettings) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    if !settings.is_off("shadowToggle") {
        let opacity = settings.number("shadowOpacity", 0.0..=2.0).unwrap_or(1.0);
        list.push(("shadow-intensity", opacity.to_string()));
        let blur = settings.number("shadowBlur", 0.0..=1.0);
        list.extend(blur.map(|blur| ("shadow-softness", blur.to_string())));
    }
    if let Some(environment) = settings.environment() {
        let attribute = if settings.is_on("skyBoxEnabled") {
            "skybox-image"
        } else {
            "environment-image"
        };
        list.push((attribute, environment));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, config: &str) -> Page {
        page(&Exhibit {
            name,
            model: "http://storage.test/a.glb?x=1&y=2",
            usdz: None,
            poster: None,
            config,
            storage: "http://storage.test",
        })
    }

    #[test]
    fn nothing_breaks_out_of_the_page() {
        let hostile = r#"</title><script>alert(1)</script>" onload='x'"#;
        let config = serde_json::json!({
            "companyLogo": "data:image/png;base64,AA==",
            "companyLink": "javascript:alert(1)",
            "companyLogoCSS": "width:1px}</style><script>alert(1)</script>",
            "renderCanvasCSS": "background:url(//evil.test)",
            "plainBackgroundColor": "red}</style><script>",
            "baseUnit": "\"><script>",
            "displayUnits": "m,\"><script>,cm",
            "animationSpeed": "1\" onload=\"x",
            "environmentURL": "https://evil.test/sky.hdr",
        });
        let page = shown(hostile, &config.to_string());
        assert_eq!(page.html.matches("<script").count(), 3, "{}", page.html);
        assert!(!page.html.contains("javascript:"));
        assert!(!page.html.contains("evil.test"));
        assert!(!page.html.contains("\" onload"));
        assert!(page.html.contains("a.glb?x=1&amp;y=2"));
        assert!(page.html.contains(r#"data-display-units="m,cm""#));
    }

    #[test]
    fn settings_reach_the_viewer() {
        let config = r##"{"shadowToggle": "true", "shadowOpacity": "0.5", "cameraPanning": "false",
            "cameraMaxVerticalAngle": "90", "cameraMaxZoom": "2", "backgroundIsGradient": "true",
            "gradientBackgroundColor1": "#000", "gradientBackgroundColor2": "#fff",
            "enableARBtn": "true"}"##;
        let html = shown("chair", config).html;
        for part in [
            r#"shadow-intensity="0.5""#,
            r#"disable-pan="""#,
            r#"max-camera-orbit="auto 90deg 200%""#,
            "linear-gradient(#000,#fff)",
            r#"ar="""#,
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    /// What a page shows, without what differs each time.
    fn look(config: &serde_json::Value) -> String {
        let html = shown("chair", &config.to_string()).html;
        let (head, rest) = html.split_once("<style nonce=\"").unwrap();
        let (_, rest) = rest.split_once('"').unwrap();
        format!("{head}{rest}")
    }

    #[test]
    fn every_key_of_the_api_acts_or_is_listed_as_without_effect() {
        let docs = include_str!("../../../docs/service.md");
        let picture = "data:image/png;base64,AA==";
        for key in crate::wire::ViewerConfig::KEYS {
            let mut config = serde_json::json!({
                "companyLogo": picture, "productLogo": picture, "threeDLogo": picture,
                "environmentURL": picture, "backgroundIsGradient": "false",
                "gradientBackgroundColor1": "#000", "gradientBackgroundColor2": "#111",
                "plainBackgroundColor": "#222",
            });
            if key.starts_with("gradient") {
                config["backgroundIsGradient"] = "true".into();
            }
            let before = look(&config);
            config[*key] = match *key {
                "cameraPanning" | "backgroundIsColor" | "shadowToggle" => "false".into(),
                key if key.ends_with("Toggle") => "false".into(),
                key if key.ends_with("CSS") => "width:7px".into(),
                key if key.ends_with("Link") => "https://x.test/".into(),
                key if key.ends_with("Logo") || key == "environmentURL" => {
                    "data:image/png;base64,BB==".into()
                }
                key if key.contains("Color") && !key.starts_with("background") => "#abc".into(),
                "baseUnit" | "displayUnit" => "ft".into(),
                "baseUnits" | "displayUnits" => "ft,in".into(),
                key if key.starts_with("enable") || key.starts_with("background") => "true".into(),
                "skyBoxEnabled" | "fxaaOn" => "true".into(),
                _ => "0.5".into(),
            };
            let row = docs
                .lines()
                .find(|line| line.starts_with(&format!("| `{key}` |")));
            let row = row.unwrap_or_else(|| panic!("{key} is not in docs/service.md"));
            assert_eq!(look(&config) == before, row.contains("no effect"), "{row}");
        }
    }

    #[test]
    fn an_animation_plays_unless_it_is_switched_off() {
        let plays = |config: &str| shown("fox", config).html.contains(r#"autoplay="""#);
        assert!(plays("{}") && plays(r#"{"enableAnimationControl": "true"}"#));
        assert!(!plays(r#"{"enableAnimationControl": "false"}"#));
        assert!(!plays(r#"{"animationSpeed": "0"}"#));
    }

    #[test]
    fn the_policy_knows_the_style_of_the_vendored_viewer() {
        use base64::Engine as _;
        use sha2::{Digest as _, Sha256};
        let script = include_str!("vendor/model-viewer.min.js");
        let (_, rest) = script.split_once("<style>").unwrap();
        let (style, rest) = rest.split_once("</style>").unwrap();
        assert!(!rest.contains("<style>"), "there is one");
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(style));
        assert_eq!(MODEL_VIEWER_STYLE, format!("'sha256-{hash}'"));
    }

    #[test]
    fn the_policy_allows_this_service_and_its_storage_only() {
        let one = shown("a", "{}").policy;
        assert!(one.starts_with("default-src 'none'"));
        assert!(!one.contains("unsafe-inline") && !one.contains("'unsafe-eval'"));
        assert!(one.contains("connect-src 'self' data: blob: http://storage.test;"));
        assert_ne!(one, shown("a", "{}").policy, "each page has its own nonce");
    }
}

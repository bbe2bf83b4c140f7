//! The viewer page of an embed: model-viewer with the settings of the embed, everything from here.
//!
//! Every value is escaped for its context, styles and links are checked, and a strict content security
//! policy is the second wall: no script but ours, no request but to this service and its storage.

mod attributes;
mod exhibit;
mod settings;
mod style;

use crate::service::ids::random_name;
use attributes::attributes;
pub use exhibit::Exhibit;
use exhibit::escaped;
use settings::Logo;
pub use settings::ViewerSettings;

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
        "basis_transcoder.js" => (include_bytes!("vendor/basis_transcoder.js"), SCRIPT),
        "basis_transcoder.wasm" => (
            include_bytes!("vendor/basis_transcoder.wasm"),
            "application/wasm",
        ),
        "before.js" => (include_bytes!("before.js"), SCRIPT),
        "ready.js" => (include_bytes!("ready.js"), SCRIPT),
        "viewer.js" => (include_bytes!("viewer.js"), SCRIPT),
        _ => return None,
    })
}

/// The style sheet in model-viewer's own template, by its hash; it changes with the vendored file.
pub const MODEL_VIEWER_STYLE: &str = "'sha256-PXtZZkJMMyc18o/DN1ZEFOJ2qEGq95IQbVaJFMOXOb0='";

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
<meta name="color-scheme" content="light dark">
<title>{name}</title>
{preview}<link rel="icon" href="data:,">
<style nonce="{nonce}">{styles}</style>
<script src="assets/before.js"></script>
<script type="module" src="assets/model-viewer.min.js"></script>
<script type="module" src="assets/viewer.js"></script>
</head>
<body>
<main>
<h1>{name}</h1>
<model-viewer id="model" {attributes}><button slot="ar-button" id="ar">View in your room</button></model-viewer>
{logos}<div id="tools" role="group" aria-label="Viewer"><button id="animation" hidden></button><select id="units" aria-label="Unit" hidden></select><pre id="note" role="status"></pre><button id="fullscreen" hidden>Full screen</button></div>
</main>
</body>
</html>
"#,
        preview = preview(exhibit),
        styles = styles(&settings),
        attributes = attributes(exhibit, &settings),
    );
    let storage = exhibit
        .storage
        .map_or_else(String::new, |origin| format!(" {origin}"));
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'nonce-{nonce}' {MODEL_VIEWER_STYLE}; \
         img-src 'self' data: blob:{storage}; connect-src 'self' data: blob:{storage}; \
         worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors * file:"
    );
    Page { html, policy }
}

/// Metadata for the previews that chats and social networks make of a link to the page.
fn preview(exhibit: &Exhibit<'_>) -> String {
    let (name, address) = (escaped(exhibit.name), escaped(exhibit.address));
    let mut tags = format!(
        r#"<meta name="description" content="{name}, a 3D model to look at from all sides">
<meta property="og:type" content="website">
<meta property="og:title" content="{name}">
<meta property="og:description" content="A 3D model to look at from all sides">
<meta property="og:url" content="{address}">
"#
    );
    if exhibit.has_poster {
        tags.push_str(&format!(
            r#"<meta property="og:image" content="{address}/poster.jpg">
<meta property="og:image:alt" content="{name}">
<meta name="twitter:card" content="summary_large_image">
"#
        ));
    }
    tags
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
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name}</title>
<link rel="icon" href="data:,">
</head>
<body><main><h1>{name} is being prepared …</h1></main></body>
</html>
"#
    );
    let policy = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors * file:";
    Page {
        html,
        policy: policy.to_owned(),
    }
}

fn logo(logo: &Logo) -> String {
    let Logo {
        id, picture, alt, ..
    } = logo;
    let picture = format!(r#"<img src="{}" alt="{alt}">"#, escaped(picture));
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

/// The look of a page whose configuration says nothing.
const STYLES: &str = "html,body,main{margin:0;height:100%;overflow:hidden;font:14px system-ui,sans-serif}\
    h1{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\
    model-viewer{width:100%;height:100%;background:#ffffff;--poster-color:transparent}\
    .logo{position:absolute}.logo img{max-width:160px;max-height:80px}\
    #company{top:16px;left:16px}#product{top:16px;right:16px}#three-d{bottom:64px;right:16px}\
    #tools{position:absolute;left:16px;right:16px;bottom:16px;display:flex;align-items:center;gap:8px;pointer-events:none}\
    #fullscreen{margin-left:auto}#ar{position:absolute;top:16px;left:50%;transform:translateX(-50%)}\
    button,select,#note:not(:empty){pointer-events:auto;min-height:36px;padding:0 14px;border:1px solid #00000026;\
    border-radius:18px;background:#ffffffe6;color:#1b1f26;font:inherit}\
    #note{margin:0;line-height:1.4;box-sizing:border-box}#note:not(:empty){padding:8px 14px}button,select{cursor:pointer}\
    :focus-visible{outline:2px solid #2f5bd7;outline-offset:2px}\
    @media (prefers-color-scheme:dark){model-viewer{background:#17191d}\
    button,select,#note:not(:empty){background:#262a31e6;color:#e8eaee;border-color:#ffffff26}\
    :focus-visible{outline-color:#86a5ff}}";

fn styles(settings: &ViewerSettings) -> String {
    let mut styles = String::from(STYLES);
    if let Some(background) = background(settings) {
        styles.push_str(&format!("model-viewer{{background:{background}}}"));
    }
    if let Some(contrast) = settings.number("cameraContrast") {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, config: &str) -> Page {
        page(&Exhibit {
            name,
            identifier: "k3y",
            address: "http://service.test/embed/k3y",
            storage: None,
            has_usdz: false,
            has_poster: true,
            config,
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

    /// The text of a page without its nonces.
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
        for key in crate::wire::ViewerConfig::keys() {
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
            config[key] = match key {
                "cameraPanning" | "backgroundIsColor" | "shadowToggle" => "false".into(),
                "enableAnimationControl" => "false".into(),
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
    fn a_usdz_gives_phones_their_ar_button_unless_it_is_switched_off() {
        let shown = |has_usdz, config| {
            let exhibit = Exhibit {
                name: "chair",
                identifier: "k3y",
                address: "http://service.test/embed/k3y",
                storage: None,
                has_usdz,
                has_poster: false,
                config,
            };
            page(&exhibit).html
        };
        let modes = r#"ar-modes="webxr scene-viewer quick-look""#;
        let with = shown(true, "{}");
        assert!(with.contains(r#"ios-src="k3y/model.usdz""#) && with.contains(modes));
        assert!(!shown(true, r#"{"enableARBtn": "false"}"#).contains("ar-modes"));
        assert!(!shown(false, "{}").contains("ar-modes"));
        let glb = shown(false, r#"{"enableARBtn": "true"}"#);
        assert!(glb.contains(modes) && !glb.contains("ios-src"));
    }

    #[test]
    fn a_link_to_the_page_has_a_preview() {
        let html = shown("Oak & wool", "{}").html;
        for tag in [
            r#"<meta property="og:title" content="Oak &amp; wool">"#,
            r#"<meta property="og:url" content="http://service.test/embed/k3y">"#,
            r#"<meta property="og:image" content="http://service.test/embed/k3y/poster.jpg">"#,
        ] {
            assert!(html.contains(tag), "{tag}: {html}");
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
    fn the_policy_allows_this_service_only() {
        let one = shown("a", "{}").policy;
        assert!(one.starts_with("default-src 'none'"));
        assert!(!one.contains("unsafe-inline") && !one.contains("'unsafe-eval'"));
        assert!(one.contains("connect-src 'self' data: blob:;"));
        assert_ne!(one, shown("a", "{}").policy, "each page has its own nonce");
    }
}

//! The page of the service at `/`: a web application that uses the public API, and `/page/…` for what that does not tell.
//!
//! Its files are part of the program and load nothing from elsewhere. Its content security policy allows no script and no
//! style but these files, and no way to turn a text into HTML. Models in 3D are shown in a frame that has no origin, so
//! what reads a model has neither the session nor the network.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Value, json};

use assetfs_engine::settings::{Form, KEYS, Treatment};
use assetfs_formats as formats;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The document.
pub const HTML: &[u8] = include_bytes!("index.html");

/// The document of the frame that shows models in 3D.
pub const FRAME: &[u8] = include_bytes!("frame.html");

/// Declares the files by their paths below this folder, which are their paths in addresses too.
macro_rules! files {
    ($($media_type:expr => $($path:literal)+;)+) => {
        &[$($(($path, include_bytes!($path) as &[u8], $media_type),)+)+]
    };
}

/// The style sheets of the document, joined in this order: a browser takes longer for each request than for these bytes.
static SHEETS: LazyLock<String> = LazyLock::new(|| {
    [
        include_str!("styles/base.css"),
        include_str!("styles/controls.css"),
        include_str!("styles/frame.css"),
        include_str!("styles/gallery.css"),
        include_str!("styles/detail.css"),
        include_str!("styles/compare.css"),
        include_str!("styles/presets.css"),
        include_str!("styles/viewer3d.css"),
    ]
    .concat()
});

/// Every other file that the document loads: its path, its bytes and its media type.
static FILES: &[(&str, &[u8], &str)] = files! {
    "image/svg+xml" => "icon.svg";
    STYLE => "styles/frame3d.css";
    SCRIPT =>
        "scripts/main.js" "scripts/account.js" "scripts/api.js" "scripts/cards.js" "scripts/compare.js"
        "scripts/config_form.js" "scripts/config_paths.js" "scripts/config_text.js" "scripts/convert.js" "scripts/dom.js"
        "scripts/drops.js" "scripts/embed_dialog.js" "scripts/embeds.js" "scripts/format.js" "scripts/frame.js"
        "scripts/frame3d.js" "scripts/gallery.js" "scripts/icons.js" "scripts/later.js" "scripts/leaving.js" "scripts/live.js"
        "scripts/logs.js" "scripts/model.js" "scripts/models.js" "scripts/notices.js" "scripts/optimize.js"
        "scripts/pictures.js" "scripts/preset_draft.js" "scripts/preset_editor.js" "scripts/preset_preview.js"
        "scripts/preset_summary.js" "scripts/presets.js" "scripts/queue.js" "scripts/reach.js"
        "scripts/references.js" "scripts/result.js" "scripts/results.js" "scripts/selection.js"
        "scripts/session.js" "scripts/settings.js" "scripts/several.js" "scripts/share.js" "scripts/sides.js"
        "scripts/sign_in.js" "scripts/source3d.js" "scripts/stale.js"
        "scripts/tabs.js" "scripts/tags.js" "scripts/time_left.js" "scripts/transfer.js" "scripts/upload_check.js"
        "scripts/upload_plan.js" "scripts/uploads.js" "scripts/viewer3d.js" "scripts/views.js"
        "scripts/wholeness.js" "scripts/zip.js" "scripts/zip_models.js";
};

/// A file of the page: its bytes and its media type.
pub fn asset(path: &str) -> Option<(&'static [u8], &'static str)> {
    if path == "styles.css" {
        return Some((SHEETS.as_bytes(), STYLE));
    }
    let found = FILES.iter().find(|(known, ..)| *known == path);
    found.map(|(_, bytes, media_type)| (*bytes, *media_type))
}

/// The content security policy of the page. `origins` are where the storage takes uploads and where files are read.
pub fn policy(origins: &[String]) -> String {
    let storage = origins.join(" ");
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' {storage}; \
         connect-src 'self' {storage}; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

/// The content security policy of the frame. `viewer_style` is the hash of the style sheet in the viewer's template. The
/// frame gets the bytes of models from the page, so it connects to nothing but the decoders beside the viewer.
pub fn frame_policy(viewer_style: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' {viewer_style}; \
         img-src data: blob:; connect-src 'self' data: blob:; worker-src blob:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    )
}

/// A key of the preset editor.
#[derive(Debug, Serialize)]
struct EditorKey {
    path: &'static str,
    #[serde(flatten)]
    form: Option<Form>,
    /// Why it has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_done: Option<&'static str>,
}

/// The formats and the keys of presets for the page, from the tables of the engine.
pub fn facts() -> Value {
    let read = formats::MODELS
        .iter()
        .filter(|format| format.is_read())
        .map(|format| {
            json!({
                "extension": format.extension,
                "alone": format.can_stand_alone(),
                "cad": format.kind == formats::Kind::Cad,
                "references_known": format.parts != formats::Parts::Unknown,
            })
        });
    let keys = KEYS.iter().map(|key| match key.treatment {
        Treatment::Done(form) => EditorKey {
            path: key.path,
            form: Some(form),
            not_done: None,
        },
        Treatment::NotDone(reason) => EditorKey {
            path: key.path,
            form: None,
            not_done: Some(reason),
        },
    });
    json!({
        "formats": { "read": read.collect::<Vec<_>>(), "written": formats::FileFormat::NAMES },
        "preset_keys": keys.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_page_and_the_engine_agree_on_what_is_no_gain() {
        let page = include_str!("scripts/result.js");
        let engine = include_str!("../../../crates/engine/src/job/gain.rs");
        assert!(page.contains("const MIN_GAIN = 0.02;"));
        assert!(engine.contains("const MIN_GAIN_PERCENT: f64 = 2.0;"));
    }

    #[test]
    fn every_file_of_the_folder_is_served_and_every_import_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/service/page");
        let mut there = BTreeSet::from(["icon.svg".to_owned()]);
        for part in ["scripts", "styles"] {
            for entry in fs::read_dir(folder.join(part)).unwrap() {
                let entry = entry.unwrap();
                let is_sheet = SHEETS.contains(&fs::read_to_string(entry.path()).unwrap());
                if !is_sheet {
                    there.insert(format!("{part}/{}", entry.file_name().to_str().unwrap()));
                }
            }
        }
        let served = FILES.iter().map(|(path, ..)| (*path).to_owned());
        assert_eq!(served.collect::<BTreeSet<_>>(), there);
        for (path, bytes, _) in FILES {
            let text = str::from_utf8(bytes).unwrap();
            let imports = [" from './", "import('./"];
            for (_, rest) in imports
                .iter()
                .flat_map(|start| text.match_indices(start))
                .map(|(at, start)| text.split_at(at + start.len()))
            {
                let (name, _) = rest.split_once('\'').unwrap();
                assert!(there.contains(&format!("scripts/{name}")), "{path}: {name}");
            }
        }
        let frame = str::from_utf8(FRAME).unwrap();
        for name in ["styles/frame3d.css", "scripts/frame3d.js"] {
            assert!(frame.contains(&format!("\"{name}\"")) && there.contains(name));
        }
        let html = str::from_utf8(HTML).unwrap();
        for (_, rest) in html
            .match_indices("\"page/")
            .map(|(at, _)| html.split_at(at + 6))
        {
            let (name, _) = rest.split_once('"').unwrap();
            assert!(asset(name).is_some(), "{name}");
        }
    }

    /// What `file` imports at once, and what that imports.
    fn add_imports(file: &str, all: &mut BTreeSet<String>) {
        let (bytes, _) = asset(file).unwrap();
        let text = str::from_utf8(bytes).unwrap();
        for (at, start) in text.match_indices(" from './") {
            let (name, _) = text[at + start.len()..].split_once('\'').unwrap();
            let path = format!("scripts/{name}");
            if all.insert(path.clone()) {
                add_imports(&path, all);
            }
        }
    }

    #[test]
    fn the_document_asks_at_once_for_every_script_that_the_first_view_needs() {
        let mut needed = BTreeSet::new();
        add_imports("scripts/main.js", &mut needed);
        let html = str::from_utf8(HTML).unwrap();
        let start = "<link rel=\"modulepreload\" href=\"page/";
        let asked = html.match_indices(start).map(|(at, _)| {
            let (path, _) = html[at + start.len()..].split_once('"').unwrap();
            path.to_owned()
        });
        assert_eq!(asked.collect::<BTreeSet<_>>(), needed);
    }

    #[test]
    fn the_page_has_no_inline_script_and_names_no_other_host() {
        let html = str::from_utf8(HTML).unwrap();
        assert!(!html.contains("<style") && !html.contains("style=") && !html.contains(" on"));
        assert_eq!(
            html.matches("<script").count(),
            html.matches("<script type=\"module\" src=\"page/").count()
        );
        let sheets = ("styles.css", SHEETS.as_bytes(), STYLE);
        for (path, bytes, _) in FILES.iter().chain([&sheets]) {
            let text = str::from_utf8(bytes).unwrap();
            let addresses = text
                .match_indices("://")
                .map(|(at, _)| &text[at.saturating_sub(5)..]);
            for address in addresses {
                let is_name =
                    address.contains("://www.w3.org/2000/svg") || address.starts_with("https://'");
                assert!(is_name, "{path}: {}", &address[..address.len().min(60)]);
            }
            for sink in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(sink), "{path}: {sink}");
            }
        }
    }

    #[test]
    fn facts_have_every_key_with_its_form_or_its_reason() {
        let facts = facts();
        let keys = facts["preset_keys"].as_array().unwrap();
        assert_eq!(keys.len(), KEYS.len());
        for key in keys {
            let is_field = key["label"].is_string() && key["value"]["kind"].is_string();
            assert_ne!(is_field, key["not_done"].is_string(), "{key}");
        }
        assert_eq!(
            facts["formats"]["read"][0],
            json!({ "extension": "glb", "alone": true, "cad": false, "references_known": true })
        );
    }
}

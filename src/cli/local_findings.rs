//! The checks of `assetfs doctor` for the engine and the local service.

use super::finding::{Finding, Verdict};
use super::thumbnail::setup;
use crate::fuse::shell_quoted;
use crate::service::{MissingProtection, Protection, Sandbox};
use assetfs_engine::cad;

pub(super) fn all() -> Vec<Finding> {
    vec![pictures(), cad_files(), sandbox()]
}

fn pictures() -> Finding {
    let verdict = match (setup::missing(), setup::not_for_nautilus()) {
        (None, None) => {
            let folder = setup::set_up_in().unwrap_or_default();
            let folder = shell_quoted(&folder);
            Verdict::Good(format!(
                "file managers show pictures of models (set up in {folder}; Thunar needs `tumbler` for pictures)"
            ))
        }
        (None, Some(why)) => {
            Verdict::Advice(format!("Nautilus shows no pictures of models: {why}"))
        }
        (Some(missing), _) => Verdict::Advice(format!(
            "file managers show no pictures of models: {missing}"
        )),
    };
    Finding {
        what: "Pictures",
        verdict,
    }
}

fn cad_files() -> Finding {
    let verdict = match cad::reader() {
        Some(program) => match Sandbox::trial(|| cad::check_reader(&program)).0 {
            Ok(()) => Verdict::Good(format!(
                "step, iges and brep files are read by {}",
                shell_quoted(&program)
            )),
            Err(why) => Verdict::Advice(format!(
                "step, iges and brep files cannot be read on this machine: {} does not start in the sandbox of worker \
                 processes ({why}); install Open CASCADE below /usr, where they may read it",
                shell_quoted(&program)
            )),
        },
        None => Verdict::Advice(
            "step, iges and brep files cannot be read on this machine; install the package `assetfs-cad`"
                .to_owned(),
        ),
    };
    Finding {
        what: "CAD files",
        verdict,
    }
}

/// What protects this machine from models of strangers.
fn sandbox() -> Finding {
    let missing: Vec<String> = Protection::missing()
        .iter()
        .map(MissingProtection::to_string)
        .collect();
    let verdict = match missing.is_empty() {
        true => Verdict::Good(
            "a model's worker process reaches no network and no file but its own".to_owned(),
        ),
        false => Verdict::Advice(missing.join("; ")),
    };
    Finding {
        what: "Sandbox",
        verdict,
    }
}

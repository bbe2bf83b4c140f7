//! Warnings about layers that could not be composed.

use openusd::pcp::Error;
use openusd::usd::Stage;

use super::damage::is_named_as_layer;
use super::resolver::{Files, as_spelled};
use assetfs_formats::warnings::{Warning, WarningKind};

/// The warnings about what the stage could not compose so far. A missing layer whose name is that of a layer is left out here,
/// because the reader of files has warned of it.
pub(super) fn warnings(stage: &Stage, files: &mut Files) -> Vec<Warning> {
    let errors = stage.composition_errors();
    let found = errors.iter().filter_map(|error| warning(error, files));
    let mut found: Vec<Warning> = found.collect();
    found.sort_by(|one, other| one.text.cmp(&other.text));
    found.dedup();
    for warning in &mut found {
        warning.text = files.without_folders(&warning.text);
    }
    found
}

fn warning(error: &Error, files: &mut Files) -> Option<Warning> {
    let text = match error {
        Error::UnresolvedLayer { asset_path, .. }
        | Error::UnresolvedSublayer { asset_path, .. }
            if !is_named_as_layer(asset_path) =>
        {
            let name = as_spelled(asset_path);
            let absence = files.absence_of(name);
            let text = format!("the layer \"{name}\" is left out: {}", absence.reason());
            return Some(Warning::new(absence.kind(), text));
        }
        Error::UnresolvedLayer { .. }
        | Error::UnresolvedSublayer { .. }
        | Error::MutedAssetPath { .. } => return None,
        Error::MalformedLayer { asset_path, .. } | Error::MalformedSublayer { asset_path, .. }
            if !is_named_as_layer(asset_path) =>
        {
            format!("the layer \"{asset_path}\" is left out: it is not a USD file")
        }
        Error::MalformedLayer {
            asset_path,
            site_path,
            introduced_by,
            ..
        } => {
            let reason = files.damage_of(asset_path, introduced_by);
            let why = format!("it cannot be read: {reason}");
            left_out(asset_path, site_path.as_str(), &why)
        }
        Error::MalformedSublayer {
            asset_path,
            introduced_by,
            ..
        } => {
            let reason = files.damage_of(asset_path, introduced_by);
            format!("the layer \"{asset_path}\" is left out: it cannot be read: {reason}")
        }
        other => prim_line(other),
    };
    Some(Warning::new(WarningKind::Damaged, text))
}

fn left_out(name: &str, place: &str, why: &str) -> String {
    format!("the layer \"{name}\" is left out at <{place}>: {why}")
}

/// The line of an error that is not about a layer that cannot be read.
fn prim_line(error: &Error) -> String {
    match error {
        Error::UnresolvedPrimPath {
            target_layer,
            prim_path,
            site_path,
            ..
        } => format!(
            "the prim <{prim_path}> of the layer \"{target_layer}\" is left out at <{site_path}>: it does not exist"
        ),
        Error::InvalidPrimPath {
            prim_path,
            site_path,
            ..
        } => format!("<{prim_path}> is left out at <{site_path}>: it is no path of a prim"),
        Error::MissingDefaultPrim {
            layer_id,
            site_path,
            ..
        } => left_out(layer_id, site_path.as_str(), "it has no default prim"),
        Error::InvalidDefaultPrim {
            layer_id,
            site_path,
            ..
        } => left_out(
            layer_id,
            site_path.as_str(),
            "its default prim is no name of a prim",
        ),
        Error::ArcCycle(chain) => self_reference(&chain.composing),
        Error::SublayerCycle {
            root_layer,
            seen_layer,
        } => format!(
            "the layer \"{root_layer}\" includes \"{seen_layer}\" again; the repetition is left out"
        ),
        other => format!("the layers do not fit together: {other}"),
    }
}

/// The warning about a prim that is composed of itself.
pub(super) fn circle(path: &impl std::fmt::Display) -> Warning {
    Warning::new(WarningKind::Damaged, self_reference(path))
}

fn self_reference(path: &impl std::fmt::Display) -> String {
    format!("<{path}> references itself; the cyclic reference is ignored")
}

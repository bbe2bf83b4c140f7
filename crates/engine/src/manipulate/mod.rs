//! Changes a scene as the configuration requests: removes parts, merges vertices, rotates, centres and scales.
//!
//! Rotation, translation and scale are put into one node above all roots, so skins and animations follow.

mod discard;
mod invisible;
mod merge;
mod small_parts;

use std::collections::BTreeMap;

use glam::{DMat4, DQuat, DVec3};
use serde_json::{Value, json};

use super::clean::fix_animations;
use super::scene::{Scene, indices_in};
use super::settings::Settings;
use assetfs_formats::number_text::counted_were;

pub use discard::discard;
pub(crate) use invisible::animated_nodes;
pub(crate) use merge::merge as merge_near;

/// Which setting removed every triangle of a model.
#[derive(Debug, thiserror::Error)]
pub enum NothingLeft {
    /// No part is as large as the percentage asks for.
    #[error(
        "sceneManipulation.removeSmallFeatures.removalPercentage is {percent}, and every part is smaller than that share of the model; choose a smaller percentage"
    )]
    SmallFeatures {
        /// Percent of the model's diagonal.
        percent: f64,
    },
    /// No triangle is visible from outside.
    #[error(
        "sceneManipulation.removeInvisibleGeometry found no triangle that is visible from outside; remove this setting"
    )]
    Invisible,
    /// All triangles collapsed.
    #[error(
        "assetSimplification.topologySettings.vertexMergingDistance is {distance}, and every triangle is smaller than that; choose a smaller distance"
    )]
    Merging {
        /// In units of the model.
        distance: f64,
    },
    /// The source has no triangle with an area.
    #[error("no triangle of the source has an area")]
    NoArea,
}

/// The changes that were made.
#[derive(Debug)]
pub struct Manipulated {
    /// Lines for `info.log`.
    pub lines: Vec<String>,
    /// Transforms positions in the original model to positions in the changed one.
    pub moved: DMat4,
}

/// Makes the changes that the settings request.
///
/// # Errors
/// When a setting removes every triangle of the model.
pub fn manipulate(scene: &mut Scene, settings: &Settings) -> Result<Manipulated, NothingLeft> {
    let had_triangles = scene.drawn_triangles() > 0;
    let mut done = discard(scene, &settings.discard);
    let mut moved = DMat4::IDENTITY;
    if settings.fix_animations {
        let fixed = fix_animations(scene);
        done.push(format!(
            "{fixed} samplers and channels of animations were repaired"
        ));
    }
    if let Some(distance) = settings.merge_distance {
        let joined = merge_near(scene, distance as f32);
        done.push(format!(
            "{} moved onto a neighbour within {distance}",
            counted_were(joined as u64, "vertex")
        ));
    }
    if let Some(percent) = settings.small_feature_percentage {
        let removed = small_parts::remove(scene, percent as f32);
        done.push(format!(
            "{} removed for being smaller than {percent} % of the model",
            counted_were(removed as u64, "part")
        ));
        if had_triangles && scene.drawn_triangles() == 0 {
            return Err(NothingLeft::SmallFeatures { percent });
        }
    }
    if settings.remove_invisible {
        let removed = invisible::remove(scene);
        done.push(format!(
            "{} removed for being invisible from outside",
            counted_were(removed as u64, "triangle")
        ));
        if had_triangles && scene.drawn_triangles() == 0 {
            return Err(NothingLeft::Invisible);
        }
    }
    if settings.rotate_z_up {
        let turn = DMat4::from_rotation_x(-std::f64::consts::FRAC_PI_2);
        wrap(scene, turn);
        moved = turn * moved;
        done.push("the model was turned from z up to y up".to_owned());
    }
    if settings.center_model
        && let Some(bounds) = scene.bounds()
    {
        let (low, high) = scene.in_world(bounds);
        let shift = DMat4::from_translation(-(low + high) / 2.0);
        wrap(scene, shift);
        moved = shift * moved;
        done.push("the center of the model was moved to the origin".to_owned());
    }
    Ok(Manipulated { lines: done, moved })
}

/// Scales the whole model by `factor`.
pub fn scale(scene: &mut Scene, factor: f64) {
    wrap(scene, DMat4::from_scale(DVec3::splat(factor)));
}

/// Puts nodes with the matrix above all roots of every scene.
fn wrap(scene: &mut Scene, matrix: DMat4) {
    match scene.list("scenes").len() > 1 {
        true => wrap_each_root(scene, matrix),
        false => wrap_roots(scene, matrix),
    }
    scene.choose_origin();
}

fn wrap_roots(scene: &mut Scene, matrix: DMat4) {
    let roots = scene.roots();
    if roots.is_empty() {
        return;
    }
    let top = scene.push("nodes", wrapper(&roots, matrix));
    match scene.list_mut("scenes").and_then(|all| all.first_mut()) {
        Some(shown) => shown["nodes"] = json!([top]),
        None => {
            scene
                .json
                .insert("scenes".to_owned(), json!([{ "nodes": [top] }]));
            scene.json.insert("scene".to_owned(), 0.into());
        }
    }
}

/// Scenes may share roots, and a node has one parent at most: so each root gets a node of its own.
fn wrap_each_root(scene: &mut Scene, matrix: DMat4) {
    let mut wrappers: BTreeMap<usize, usize> = BTreeMap::new();
    for number in 0..scene.list("scenes").len() {
        let roots: Vec<usize> = indices_in(&scene.list("scenes")[number], "nodes").collect();
        let tops: Vec<usize> = roots
            .into_iter()
            .map(|root| {
                *wrappers
                    .entry(root)
                    .or_insert_with(|| scene.push("nodes", wrapper(&[root], matrix)))
            })
            .collect();
        if let Some(scenes) = scene.list_mut("scenes").filter(|_| !tops.is_empty()) {
            scenes[number]["nodes"] = json!(tops);
        }
    }
}

/// A node with the matrix above others.
fn wrapper(children: &[usize], matrix: DMat4) -> Value {
    let mut node = json!({ "name": "root", "children": children });
    let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
    if translation != DVec3::ZERO {
        node["translation"] = json!(translation.to_array());
    }
    if rotation.angle_between(DQuat::IDENTITY) > 0.0 {
        node["rotation"] = json!(rotation.to_array());
    }
    if scale != DVec3::ONE {
        node["scale"] = json!(scale.to_array());
    }
    node
}

//! USD: usda, usdc and usdz, through `openusd`, which composes layers into a stage.
//!
//! Prims become nodes; meshes, materials (`UsdPreviewSurface`), textures, instances, skeletons and animations are
//! converted to glTF, in metres with y up. What is not read is a warning. Layers and textures are found within the upload
//! only (`resolver`).

mod animation;
mod bindings;
mod blend_shapes;
mod composition;
mod crate_check;
mod crate_nesting;
mod damage;
mod images;
mod inherits;
mod instancer;
mod instances;
mod keyframe_times;
mod material;
mod meshes;
mod moved;
mod nodes;
mod old_crate;
mod old_text;
mod placement;
mod preview_surface;
mod prim_count;
mod primvar;
mod resolver;
mod shader;
mod shapes;
mod shear;
mod skin;
mod surface;
mod text_check;
mod transform;
mod unread;
mod values;
mod warnings;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::thread;

use glam::{DMat4, DVec3};
use openusd::usd::Stage;
use serde_json::json;

use super::super::document::DocumentError;
use super::super::scene::Scene;
use super::super::settings::{MeshCompression, UsdPurpose};
use super::error::ImportError;
use super::imported::Imported;
use super::scene_builder::SceneBuilder;
use assetfs_formats::warnings::Warning;
use nodes::Reader;
use resolver::{Confined, Files};

/// The library calls itself for each level of prims. Without a size, the stack is that of the caller's thread.
const STACK_BYTES: usize = 64 << 20;

/// Reads the file `model` in `dir`. The library panics on some damaged binary layers.
pub(super) fn import(
    dir: &Path,
    model: &Path,
    format: &'static str,
    purpose: UsdPurpose,
) -> Result<Imported, ImportError> {
    let read = || read(dir, model, format, purpose);
    thread::scope(|scope| {
        let reader = thread::Builder::new()
            .name("usd".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, read);
        let reader = reader.map_err(|source| DocumentError::Io {
            path: dir.join(model),
            source,
        })?;
        reader.join().unwrap_or_else(|_| {
            Err(ImportError::Damaged {
                file: super::file_names::file_name(model),
                what: "cannot be read as USD: a layer is damaged".to_owned(),
            })
        })
    })
}

fn read(
    dir: &Path,
    model: &Path,
    format: &'static str,
    purpose: UsdPurpose,
) -> Result<Imported, ImportError> {
    let file = super::file_names::file_name(model);
    let io = |source| DocumentError::Io {
        path: dir.join(model),
        source,
    };
    let damaged = |what: String| ImportError::Damaged {
        file: file.clone(),
        what,
    };
    let files = Rc::new(RefCell::new(Files::new(dir).map_err(io)?));
    let layer = files.borrow_mut().main_layer(model);
    let layer =
        layer.map_err(|absence| damaged(format!("cannot be read: {}", absence.reason())))?;
    let opened = Stage::builder()
        .resolver(Confined(Rc::clone(&files)))
        .open(&layer.to_string_lossy());
    let stage = opened.map_err(|error| {
        tracing::debug!("{error:#}");
        let reason = files.borrow_mut().damage(&layer);
        damaged(format!("cannot be read as USD: {reason}"))
    })?;
    let circles = inherits::remove_endless(&stage)
        .map_err(|error| damaged(format!("its inherits cannot be followed: {error}")))?;
    if let Some(what) = prim_count::excess(&stage, purpose) {
        return Err(ImportError::TooLarge { file, what });
    }
    let mut reader = Reader::new(&stage, &file, purpose, Rc::clone(&files));
    let roots = reader.read_roots()?;
    let mut warnings = reader.warnings.lines(&file);
    warnings.extend(absent_layers(&files.borrow()));
    warnings.extend(composition::warnings(&stage, &mut files.borrow_mut()));
    warnings.extend(circles.iter().map(composition::circle));
    if !reader.triangles {
        let reasons = warnings
            .iter()
            .take(3)
            .map(|warning| format!("; {}", warning.text));
        return Err(damaged(format!(
            "holds no meshes{}",
            reasons.collect::<String>()
        )));
    }
    let (skeletons, moved) = (reader.skeletons, reader.moved);
    let mut scene = finish(&stage, reader.builder, roots);
    skeletons.add_skins(&mut scene);
    animation::add(&stage, &skeletons, &moved, &mut scene, &mut warnings);
    warnings.extend(placement::without_endless_places(&mut scene));
    let size_bytes = files.borrow().size_bytes();
    Ok(Imported {
        packing: MeshCompression::None,
        scene,
        model: model.to_owned(),
        format,
        size_bytes,
        warnings,
    })
}

/// The scene with its roots, in metres with y up.
fn finish(stage: &Stage, mut builder: SceneBuilder, roots: Vec<usize>) -> Scene {
    let metadata = |name: &str| stage.stage_metadata(name).ok().flatten();
    let is_z_up = metadata("upAxis")
        .and_then(|value| values::text_of(&value))
        .as_deref()
        == Some("Z");
    let unit = metadata("metersPerUnit").as_ref().and_then(values::number);
    // Without a unit, a stage is in centimetres.
    let unit = unit
        .filter(|unit| unit.is_finite() && *unit > 0.0)
        .unwrap_or(0.01);
    let turn = match is_z_up {
        true => DMat4::from_rotation_x(-std::f64::consts::FRAC_PI_2),
        false => DMat4::IDENTITY,
    };
    let matrix = DMat4::from_scale(DVec3::splat(unit)) * turn;
    if matrix == DMat4::IDENTITY {
        builder.set_roots(roots);
    } else {
        let mut node = placement::placed(matrix);
        node["children"] = json!(roots);
        let node = builder.add_node(node);
        builder.set_root(node);
    }
    builder.finish()
}

/// A warning for each layer that was not found.
fn absent_layers(files: &Files) -> Vec<Warning> {
    let absent = files.absent().iter();
    let absent = absent.filter(|(name, _)| damage::is_named_as_layer(name));
    absent
        .map(|(name, absence)| {
            let text = format!("the layer \"{name}\" is left out: {}", absence.reason());
            Warning::new(absence.kind(), text)
        })
        .collect()
}

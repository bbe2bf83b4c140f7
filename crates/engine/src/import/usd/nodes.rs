//! The tree of prims as nodes.

use std::cell::RefCell;
use std::rc::Rc;

use glam::{DMat4, DQuat, DVec3};
use openusd::sdf::Path;
use openusd::usd::{Prim, PrimStatus, Stage};
use serde_json::{Value as Json, json};

use super::super::super::scene::Scene;
use super::super::super::settings::UsdPurpose;
use super::super::ImportError;
use super::super::far;
use super::super::scene_builder::{SceneBuilder, drawing};
use super::Warnings;
use super::blend_shapes::ShapeWeights;
use super::instancer;
use super::meshes::{MeshTarget, Meshes};
use super::moved::{Morphing, MovedPrims, Moving};
use super::prim_count::Count;
use super::primvar::InheritedColors;
use super::resolver::Files;
use super::shapes;
use super::shear::{is_sheared, two_parts};
use super::skin::Skeletons;
use super::transform::{Operations, Visibility};
use super::unread::is_structure;
use super::values::text;
use assetfs_formats::number_text::counted_were;

/// Deeper trees than programs write.
pub(super) const MAX_DEPTH: usize = 400;

/// Reads the prims of a stage.
pub(super) struct Reader<'a> {
    stage: &'a Stage,
    file: &'a str,
    purpose: UsdPurpose,
    pub(super) builder: SceneBuilder,
    pub(super) warnings: Warnings,
    meshes: Meshes,
    pub(super) skeletons: Skeletons,
    pub(super) moved: MovedPrims,
    /// Nodes to which the transforms of their parents do not apply.
    pub(super) detached: Vec<usize>,
    pub(super) triangles: bool,
    /// What was read so far.
    pub(super) count: Count,
}

/// What a prim takes from its parents.
#[derive(Clone)]
pub(super) struct Inherited {
    purpose: Option<String>,
    colors: InheritedColors,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        stage: &'a Stage,
        file: &'a str,
        purpose: UsdPurpose,
        files: Rc<RefCell<Files>>,
    ) -> Reader<'a> {
        Reader {
            stage,
            file,
            purpose,
            builder: SceneBuilder::new(),
            warnings: Warnings::default(),
            meshes: Meshes::new(files),
            skeletons: Skeletons::default(),
            moved: MovedPrims::default(),
            detached: Vec::new(),
            triangles: false,
            count: Count::default(),
        }
    }

    /// The nodes of all prims below the root of the stage.
    pub(super) fn read_roots(&mut self) -> Result<Vec<usize>, ImportError> {
        let names = self.stage.root_prims().unwrap_or_default();
        let mut roots = Vec::new();
        let inherited = Inherited {
            purpose: None,
            colors: InheritedColors::default(),
            depth: 0,
        };
        for name in names {
            let path = Path::abs_root().append_path(name.as_str());
            if let Ok(path) = path {
                roots.extend(self.read(&self.stage.prim(path), &inherited)?);
            }
        }
        for (skeleton, place) in self.skeletons.take_loose() {
            if let Some(place) = place {
                self.builder.add_children(place, skeleton.roots());
                continue;
            }
            let node = json!({ "children": skeleton.roots() });
            let world = self.world_of(&skeleton.path);
            roots.push(add_still(node, world, &mut self.builder).1);
        }
        self.moved.blinking.append(&mut self.skeletons.blinking);
        roots.append(&mut self.detached);
        Ok(roots)
    }

    /// The matrix from a prim to the stage.
    fn world_of(&self, path: &Path) -> DMat4 {
        let mut world = DMat4::IDENTITY;
        for ancestor in path.ancestors_below_root() {
            let prim = self.stage.prim(ancestor);
            let operations = Operations::of(&prim);
            world = operations.matrix(&prim, None) * world;
            if operations.resets {
                break;
            }
        }
        world
    }

    /// The node of a prim; `None` if it and all below draw nothing.
    pub(super) fn read(
        &mut self,
        prim: &Prim,
        inherited: &Inherited,
    ) -> Result<Option<usize>, ImportError> {
        self.check_limits(inherited)?;
        let status = self
            .stage
            .prim_status(prim.path().clone())
            .unwrap_or_default();
        let wanted = PrimStatus::ACTIVE | PrimStatus::LOADED | PrimStatus::DEFINED;
        if !status.contains(wanted) || status.contains(PrimStatus::ABSTRACT) {
            return Ok(None);
        }
        if Visibility::of(prim).is_never() {
            self.warnings.invisible += 1;
            return Ok(None);
        }
        let kind = prim.type_name().ok().flatten();
        let kind = kind.as_ref().map_or("", |kind| kind.as_str());
        if !is_walked(kind) {
            return Ok(None);
        }
        // A prim without a purpose has that of the nearest parent with one.
        let purpose = text(prim, "purpose").or_else(|| inherited.purpose.clone());
        let is_shown = is_of_purpose(purpose.as_deref(), self.purpose);
        let mut node = json!({});
        let mut children = Vec::new();
        let colors = inherited.colors.of(prim);
        let mut weights = None;
        let mut is_read = is_structure(kind) || kind == "Mesh";
        if is_shown {
            let mut to = MeshTarget {
                stage: self.stage,
                builder: &mut self.builder,
                warnings: &mut self.warnings,
                skeletons: &mut self.skeletons,
            };
            let drawn = match kind {
                "Mesh" => self.meshes.draw(prim, &colors, &mut to),
                "Skeleton" => {
                    let hung = self
                        .skeletons
                        .hang(self.stage, prim.path(), &mut self.builder);
                    children.extend(hung);
                    None
                }
                _ => match shapes::of_prim(prim, kind) {
                    Some(shape) => {
                        is_read = true;
                        Some(self.meshes.draw_shape(prim, kind, shape, &colors, &mut to))
                    }
                    None => {
                        self.warnings.count_unread(kind);
                        None
                    }
                },
            };
            if let Some(drawn) = drawn {
                self.triangles = true;
                let mut drawing = drawing(drawn.mesh, drawn.offset);
                if let Some(skin) = drawn.skin {
                    drawing["skin"] = skin.into();
                }
                // Instances share the mesh, and each has weights of its own.
                if !drawn.at_rest.is_empty() {
                    drawing["weights"] = json!(drawn.at_rest);
                }
                weights = drawn.weights;
                if drawn.offset == DVec3::ZERO {
                    node = drawing;
                } else {
                    // The offset is not for what is below the prim.
                    let own = self.builder.add_node(drawing);
                    children.push(own);
                    if let Some(weights) = weights.take() {
                        let nodes = vec![own];
                        self.moved.morphing.push(Morphing { weights, nodes });
                    }
                }
            }
        } else if kind == "Mesh" {
            self.warnings.other_purposes += 1;
        } else if shapes::is_shape(kind) {
            self.warnings.other_shapes += 1;
        } else {
            self.warnings.count_unread(kind);
        }
        if is_shown && is_read {
            self.warnings.properties.look_at(prim, kind);
        }
        let below = Inherited {
            purpose,
            colors,
            depth: inherited.depth + 1,
        };
        if kind == "PointInstancer" {
            // Its prototypes may be its children, which are drawn as instances only.
            if is_shown {
                children.extend(instancer::read(self, prim, &below)?);
            }
        } else {
            for child in prim.children().unwrap_or_default() {
                children.extend(self.read(&child, &below)?);
            }
        }
        if children.is_empty() && node.get("mesh").is_none() {
            return Ok(None);
        }
        Ok(self.place(prim, node, &children, weights))
    }

    fn check_limits(&mut self, inherited: &Inherited) -> Result<(), ImportError> {
        self.count.prims += 1;
        if inherited.depth > MAX_DEPTH {
            return Err(self.too_large(format!(
                "its prims are nested more than {MAX_DEPTH} levels deep"
            )));
        }
        self.check_count()
    }

    /// Refuses a stage of more prims or instances than were counted ahead.
    pub(super) fn check_count(&self) -> Result<(), ImportError> {
        match self.count.excess() {
            Some(what) => Err(self.too_large(what)),
            None => Ok(()),
        }
    }

    fn too_large(&self, what: String) -> ImportError {
        ImportError::TooLarge {
            file: self.file.to_owned(),
            what,
        }
    }

    /// Adds the node of a prim; `None` if it belongs to the root.
    fn place(
        &mut self,
        prim: &Prim,
        mut node: Json,
        children: &[usize],
        weights: Option<ShapeWeights>,
    ) -> Option<usize> {
        let operations = Operations::of(prim);
        let is_moving = operations.times(prim).len() > 1;
        let matrix = operations.matrix(prim, None);
        node["name"] = prim.path().name().unwrap_or_default().into();
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        let base = match is_moving {
            true => far_base(prim, &operations),
            false => DVec3::ZERO,
        };
        let (node, outer) = if is_moving {
            let near = DMat4::from_translation(-base) * matrix;
            let node = add_at(node, placed(near), &mut self.builder);
            (node, node)
        } else {
            add_still(node, matrix, &mut self.builder)
        };
        self.skeletons.set_place(prim.path(), node);
        let nodes = vec![node];
        if let Some(weights) = weights {
            self.moved.morphing.push(Morphing { weights, nodes });
        }
        if is_moving {
            self.moved.moving.push(Moving {
                prim: prim.clone(),
                nodes: vec![outer],
                base,
            });
        }
        let outer = match base == DVec3::ZERO {
            true => outer,
            false => {
                let base = json!({ "children": [outer], "translation": base.to_array() });
                self.builder.add_node(base)
            }
        };
        let node = self.blinking_node(prim, outer);
        if operations.resets {
            self.detached.push(node);
            return None;
        }
        Some(node)
    }
}

impl Reader<'_> {
    /// The node, below one that a prim whose visibility changes over time hides.
    fn blinking_node(&mut self, prim: &Prim, node: usize) -> usize {
        let visibility = Visibility::of(prim);
        if !visibility.changes() {
            return node;
        }
        let (node, hiding) = hiding_node(prim, &[node], &mut self.builder);
        self.moved.blinking.push(hiding);
        node
    }
}

/// What is subtracted from the places of a moving prim, because keyframes have 32 bits.
fn far_base(prim: &Prim, operations: &Operations) -> DVec3 {
    let times = operations.times(prim).into_iter();
    let places = times.map(|time| operations.matrix(prim, Some(time)).w_axis.truncate());
    far::offset_of(places)
}

/// Whether prims of a purpose are read.
pub(super) fn is_of_purpose(purpose: Option<&str>, wanted: UsdPurpose) -> bool {
    purpose.is_none_or(|purpose| purpose == "default" || purpose == wanted.name())
}

/// Whether prims of a type, or prims below them, may be drawn.
pub(super) fn is_walked(kind: &str) -> bool {
    !matches!(
        kind,
        "Material" | "Shader" | "NodeGraph" | "GeomSubset" | "SkelAnimation" | "BlendShape"
    )
}

/// A node that hides others as a prim is hidden over time.
pub(super) fn hiding_node(
    prim: &Prim,
    children: &[usize],
    builder: &mut SceneBuilder,
) -> (usize, Moving) {
    let scale = Visibility::of(prim).scale(None);
    let mut hiding = json!({ "children": children, "name": "visibility" });
    if scale != 1.0 {
        hiding["scale"] = json!([scale, scale, scale]);
    }
    let node = builder.add_node(hiding);
    let hiding = Moving {
        prim: prim.clone(),
        nodes: vec![node],
        base: DVec3::ZERO,
    };
    (node, hiding)
}

/// Adds a node with these members of its place.
fn add_at(mut node: Json, place: Json, builder: &mut SceneBuilder) -> usize {
    if let (Some(node), Json::Object(place)) = (node.as_object_mut(), place) {
        node.extend(place);
    }
    builder.add_node(node)
}

/// Adds a node that does not move; returns it and the one to put into the tree, which differs if the matrix is sheared.
fn add_still(node: Json, matrix: DMat4, builder: &mut SceneBuilder) -> (usize, usize) {
    if !is_sheared(matrix) {
        let node = add_at(node, matrix_of(matrix), builder);
        return (node, node);
    }
    let [outer, inner] = two_parts(matrix);
    let node = add_at(node, placed(inner), builder);
    let shear = json!({ "children": [node], "name": "shear" });
    (node, add_at(shear, placed(outer), builder))
}

/// A node's place as a matrix, or nothing.
fn matrix_of(matrix: DMat4) -> Json {
    match matrix == DMat4::IDENTITY {
        true => json!({}),
        false => json!({ "matrix": matrix.to_cols_array() }),
    }
}

/// A node's place as translation, rotation and scale.
pub(super) fn placed(matrix: DMat4) -> Json {
    let (scale, turn, place) = split(matrix);
    let mut json = json!({});
    if place != DVec3::ZERO {
        json["translation"] = json!(place.to_array());
    }
    if turn != DQuat::IDENTITY {
        json["rotation"] = json!(turn.to_array());
    }
    if scale != DVec3::ONE {
        json["scale"] = json!(scale.to_array());
    }
    json
}

/// Scale, rotation and translation of a matrix without its shear.
pub(super) fn split(matrix: DMat4) -> (DVec3, DQuat, DVec3) {
    let (scale, turn, place) = matrix.to_scale_rotation_translation();
    match turn.is_finite() && scale.is_finite() && place.is_finite() {
        true => (scale, turn.normalize(), place),
        false => (DVec3::ZERO, DQuat::IDENTITY, matrix.w_axis.truncate()),
    }
}

/// Removes transforms of nodes whose numbers are not finite or too large for 32-bit floats, which draw them. Returns a
/// warning if there are any.
pub(super) fn without_endless_places(scene: &mut Scene) -> Option<String> {
    let mut count = 0;
    for node in scene.list_mut("nodes").into_iter().flatten() {
        let Some(members) = node.as_object_mut() else {
            continue;
        };
        let before = members.len();
        for key in ["translation", "rotation", "scale", "matrix"] {
            // What is not finite becomes null in JSON.
            let is_too_large = |number: &Json| {
                number
                    .as_f64()
                    .is_none_or(|number| number.abs() > f64::from(f32::MAX))
            };
            let numbers = members.get(key).and_then(Json::as_array);
            if numbers.is_some_and(|numbers| numbers.iter().any(is_too_large)) {
                members.shift_remove(key);
            }
        }
        count += usize::from(members.len() != before);
    }
    (count > 0).then(|| {
        format!(
            "{} placed by numbers that are infinite, too large or missing; these places are left out",
            counted_were(count as u64, "prim")
        )
    })
}

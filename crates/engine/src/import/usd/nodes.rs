//! The tree of prims as nodes.

use std::cell::RefCell;
use std::rc::Rc;

use glam::{DMat4, DVec3};
use openusd::sdf::Path;
use openusd::usd::{Prim, PrimStatus, Stage};
use serde_json::{Value as Json, json};

use super::super::super::settings::UsdPurpose;
use super::super::error::ImportError;
use super::super::far;
use super::super::scene_builder::{SceneBuilder, drawing};
use super::blend_shapes::ShapeWeights;
use super::instancer;
use super::meshes::{DrawnMesh, MeshTarget, Meshes};
use super::moved::{Morphing, MovedPrims, Moving, hiding_node};
use super::placement::{add_at, add_still, placed};
use super::prim_count::{Count, MAX_DEPTH};
use super::primvar::InheritedColors;
use super::resolver::Files;
use super::shapes;
use super::skin::Skeletons;
use super::transform::{Operations, Visibility};
use super::unread::{is_of_purpose, is_structure, is_walked};
use super::values::text;
use super::warnings::Warnings;

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

/// The node of a prim before it is placed.
struct PrimNode {
    json: Json,
    children: Vec<usize>,
    /// The animation of the blend shapes of its own mesh.
    weights: Option<ShapeWeights>,
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
        let colors = inherited.colors.of(prim);
        let mut made = PrimNode {
            json: json!({}),
            children: Vec::new(),
            weights: None,
        };
        if is_shown {
            if let Some(drawn) = self.draw(prim, kind, &colors, &mut made.children) {
                self.add_drawing(drawn, &mut made);
            }
        } else if kind == "Mesh" {
            self.warnings.other_purposes += 1;
        } else if shapes::is_shape(kind) {
            self.warnings.other_shapes += 1;
        } else {
            self.warnings.count_unread(kind);
        }
        let below = Inherited {
            purpose,
            colors,
            depth: inherited.depth + 1,
        };
        if kind == "PointInstancer" {
            // Its prototypes may be its children, which are drawn as instances only.
            if is_shown {
                made.children.extend(instancer::read(self, prim, &below)?);
            }
        } else {
            for child in prim.children().unwrap_or_default() {
                made.children.extend(self.read(&child, &below)?);
            }
        }
        if made.children.is_empty() && made.json.get("mesh").is_none() {
            return Ok(None);
        }
        Ok(self.place(prim, made))
    }

    /// What a prim of a purpose that is shown draws itself. The joints of a skeleton become children.
    fn draw(
        &mut self,
        prim: &Prim,
        kind: &str,
        colors: &InheritedColors,
        children: &mut Vec<usize>,
    ) -> Option<DrawnMesh> {
        let shape = shapes::of_prim(prim, kind);
        if is_structure(kind) || kind == "Mesh" || shape.is_some() {
            self.warnings.properties.look_at(prim, kind);
        }
        let mut to = MeshTarget {
            stage: self.stage,
            builder: &mut self.builder,
            warnings: &mut self.warnings,
            skeletons: &mut self.skeletons,
        };
        match (kind, shape) {
            ("Mesh", _) => self.meshes.draw(prim, colors, &mut to),
            ("Skeleton", _) => {
                let hung = self
                    .skeletons
                    .hang(self.stage, prim.path(), &mut self.builder);
                children.extend(hung);
                None
            }
            (_, Some(shape)) => Some(self.meshes.draw_shape(prim, kind, shape, colors, &mut to)),
            (_, None) => {
                self.warnings.count_unread(kind);
                None
            }
        }
    }

    /// Lets a node draw a mesh.
    fn add_drawing(&mut self, drawn: DrawnMesh, node: &mut PrimNode) {
        self.triangles = true;
        let mut drawing = drawing(drawn.mesh, drawn.offset);
        if let Some(skin) = drawn.skin {
            drawing["skin"] = skin.into();
        }
        // Instances share the mesh, and each has weights of its own.
        if !drawn.at_rest.is_empty() {
            drawing["weights"] = json!(drawn.at_rest);
        }
        if drawn.offset == DVec3::ZERO {
            node.json = drawing;
            node.weights = drawn.weights;
        } else {
            // The offset is not for what is below the prim.
            let own = self.builder.add_node(drawing);
            node.children.push(own);
            if let Some(weights) = drawn.weights {
                let nodes = vec![own];
                self.moved.morphing.push(Morphing { weights, nodes });
            }
        }
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
    fn place(&mut self, prim: &Prim, made: PrimNode) -> Option<usize> {
        let mut node = made.json;
        let operations = Operations::of(prim);
        let is_moving = operations.times(prim).len() > 1;
        let matrix = operations.matrix(prim, None);
        node["name"] = prim.path().name().unwrap_or_default().into();
        if !made.children.is_empty() {
            node["children"] = json!(made.children);
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
        if let Some(weights) = made.weights {
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

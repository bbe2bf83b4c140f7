//! The tree of prims as nodes, with the meshes that they draw.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use glam::{DMat4, DQuat, DVec3};
use openusd::sdf::Path;
use openusd::usd::{Prim, PrimStatus, Stage};
use serde_json::{Value as Json, json};

use super::super::super::scene::{Attribute, Geometry};
use super::super::super::settings::UsdPurpose;
use super::super::ImportError;
use super::super::scene_builder::SceneBuilder;
use super::Warnings;
use super::bindings::Bindings;
use super::instancer;
use super::material::{MaterialUser, StageMaterials, UsedMaterial};
use super::resolver::Files;
use super::shapes;
use super::skin::Skeletons;
use super::surface::UsdPolygons;
use super::transform::{Operations, is_invisible};
use super::values::{flag, integers, of, text, vector};

/// Deeper trees and more prims than programs write.
const MAX_DEPTH: usize = 400;
const MAX_PRIMS: usize = 2_000_000;

/// A prim whose transform changes over time.
pub(super) struct Moving {
    pub(super) prim: Prim,
    pub(super) node: usize,
}

/// Reads the prims of a stage.
pub(super) struct Reader<'a> {
    stage: &'a Stage,
    file: &'a str,
    purpose: UsdPurpose,
    pub(super) builder: SceneBuilder,
    pub(super) warnings: Warnings,
    materials: StageMaterials,
    bindings: Bindings,
    pub(super) skeletons: Skeletons,
    /// The meshes of prims in prototypes, by the prim and its materials.
    shared: HashMap<(String, Vec<usize>), usize>,
    /// What is known of the meshes in prototypes, by the prim.
    outlines: HashMap<String, Rc<MeshOutline>>,
    pub(super) moving: Vec<Moving>,
    /// Nodes to which the transforms of their parents do not apply.
    pub(super) detached: Vec<usize>,
    prims: usize,
    pub(super) triangles: bool,
    /// Instances of point instancers so far.
    pub(super) instances: usize,
}

/// What the instances of a mesh need without its points.
struct MeshOutline {
    points: usize,
    is_cage: bool,
    user: MaterialUser,
    parts: Vec<MeshPart>,
}

/// Faces with one material: that of the subset of this name, or of the mesh.
struct MeshPart {
    subset: Option<String>,
    faces: Vec<usize>,
}

/// What a prim takes from its parents.
#[derive(Clone)]
pub(super) struct Inherited {
    purpose: Option<String>,
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
            materials: StageMaterials::new(files),
            bindings: Bindings::default(),
            skeletons: Skeletons::default(),
            shared: HashMap::new(),
            outlines: HashMap::new(),
            moving: Vec::new(),
            detached: Vec::new(),
            prims: 0,
            triangles: false,
            instances: 0,
        }
    }

    /// The nodes of all prims below the root of the stage.
    pub(super) fn read_roots(&mut self) -> Result<Vec<usize>, ImportError> {
        let names = self.stage.root_prims().unwrap_or_default();
        let mut roots = Vec::new();
        let inherited = Inherited {
            purpose: None,
            depth: 0,
        };
        for name in names {
            let path = Path::abs_root().append_path(name.as_str());
            if let Ok(path) = path {
                roots.extend(self.read(&self.stage.prim(path), &inherited)?);
            }
        }
        for skeleton in self.skeletons.take_loose() {
            let mut node = placed(self.world_of(&skeleton.path));
            node["children"] = json!(skeleton.roots());
            roots.push(self.builder.add_node(node));
        }
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
        if is_invisible(prim) {
            self.warnings.invisible += 1;
            return Ok(None);
        }
        let kind = prim.type_name().ok().flatten();
        let kind = kind.as_ref().map_or("", |kind| kind.as_str());
        if matches!(
            kind,
            "Material" | "Shader" | "NodeGraph" | "GeomSubset" | "SkelAnimation" | "BlendShape"
        ) {
            self.warnings.count_unread(kind);
            return Ok(None);
        }
        // A prim without a purpose has that of the nearest parent with one.
        let purpose = text(prim, "purpose").or_else(|| inherited.purpose.clone());
        let is_shown = purpose
            .as_deref()
            .is_none_or(|purpose| purpose == "default" || purpose == self.purpose.name());
        let mut node = json!({});
        let mut children = Vec::new();
        if is_shown {
            match kind {
                "Mesh" => self.draw(prim, &mut node),
                "Skeleton" => children.extend(self.skeletons.hang(
                    self.stage,
                    prim.path(),
                    &mut self.builder,
                )),
                _ => match shapes::of_prim(prim, kind) {
                    Some(geometry) => self.draw_shape(prim, kind, geometry, &mut node),
                    None => self.warnings.count_unread(kind),
                },
            }
        } else if kind == "Mesh" {
            self.warnings.other_purposes += 1;
        }
        let below = Inherited {
            purpose,
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
        Ok(self.place(prim, node, &children))
    }

    fn check_limits(&mut self, inherited: &Inherited) -> Result<(), ImportError> {
        self.prims += 1;
        let what = if self.prims > MAX_PRIMS {
            format!("it has more than {MAX_PRIMS} prims")
        } else if inherited.depth > MAX_DEPTH {
            format!("its prims are nested more than {MAX_DEPTH} levels deep")
        } else {
            return Ok(());
        };
        Err(ImportError::TooLarge {
            file: self.file.to_owned(),
            what,
        })
    }

    /// Adds the node of a prim; `None` if it belongs to the root.
    fn place(&mut self, prim: &Prim, mut node: Json, children: &[usize]) -> Option<usize> {
        let operations = Operations::of(prim);
        let is_moving = operations.times(prim).len() > 1;
        let matrix = operations.matrix(prim, None);
        let place = if is_moving {
            placed(matrix)
        } else {
            matrix_of(matrix)
        };
        if let (Some(node), Json::Object(place)) = (node.as_object_mut(), place) {
            node.extend(place);
        }
        node["name"] = prim.path().name().unwrap_or_default().into();
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        let node = self.builder.add_node(node);
        if is_moving {
            self.moving.push(Moving {
                prim: prim.clone(),
                node,
            });
        }
        if operations.resets {
            self.detached.push(node);
            return None;
        }
        Some(node)
    }

    /// Adds the mesh of a prim to its node.
    fn draw(&mut self, prim: &Prim, node: &mut Json) {
        let name = prim.path().name().unwrap_or_default();
        let prototype = prim.prim_in_prototype().ok().flatten();
        let prototype = prototype.map(|prototype| prototype.path().as_str().to_owned());
        let (outline, surface) = match self.outline_of(prim, prototype.as_deref()) {
            Ok(found) => found,
            Err(what) => {
                self.warnings
                    .add(format!("mesh \"{name}\" is left out: {what}"));
                return;
            }
        };
        if outline.parts.is_empty() {
            return;
        }
        if outline.is_cage {
            self.warnings.cages += 1;
        }
        let skinned = self.skeletons.bind(
            self.stage,
            prim,
            outline.points,
            &mut self.builder,
            &mut self.warnings,
        );
        let used = self.materials_of(prim, &outline);
        let key = prototype.filter(|_| skinned.is_none()).map(|prototype| {
            let materials = used.iter().map(|material| material.index).collect();
            (prototype, materials)
        });
        let known = key.as_ref().and_then(|key| self.shared.get(key).copied());
        let mesh = match known {
            Some(known) => known,
            None => {
                // The outline was read from the same prim without an error.
                let Some(mut surface) = surface.or_else(|| UsdPolygons::of(prim).ok()) else {
                    return;
                };
                if let Some((influences, skin)) = skinned {
                    surface.influences = Some(influences);
                    node["skin"] = skin.into();
                }
                let geometries = outline.parts.iter().zip(&used).map(|(part, material)| {
                    let geometry = surface.geometry(&part.faces, material.shows_colors);
                    (geometry, Some(material.index))
                });
                self.builder.add_mesh(Some(name), geometries.collect())
            }
        };
        if let Some(key) = key {
            self.shared.insert(key, mesh);
        }
        self.triangles = true;
        node["mesh"] = mesh.into();
    }

    /// The outline of a mesh, which instances share; with the mesh itself, if it was read for that.
    fn outline_of(
        &mut self,
        prim: &Prim,
        prototype: Option<&str>,
    ) -> Result<(Rc<MeshOutline>, Option<UsdPolygons>), String> {
        let known = prototype.and_then(|prototype| self.outlines.get(prototype));
        if let Some(known) = known {
            return Ok((Rc::clone(known), None));
        }
        let surface = UsdPolygons::of(prim)?;
        surface.warn(prim, &mut self.warnings);
        let outline = Rc::new(MeshOutline {
            points: surface.points.len(),
            is_cage: surface.is_cage,
            user: MaterialUser {
                coords: surface
                    .coord_names()
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect(),
                is_double_sided: flag(prim, "doubleSided"),
                has_colors: surface.colors.is_some(),
                is_translucent: surface.is_translucent(),
            },
            parts: self.parts_of(prim, &surface),
        });
        if let Some(prototype) = prototype {
            self.outlines
                .insert(prototype.to_owned(), Rc::clone(&outline));
        }
        Ok((outline, Some(surface)))
    }

    /// The material of each part of a mesh.
    fn materials_of(&mut self, prim: &Prim, outline: &MeshOutline) -> Vec<UsedMaterial> {
        let mut used = Vec::new();
        for part in &outline.parts {
            let subset = part.subset.as_deref();
            let place = subset.and_then(|name| prim.path().append_path(name).ok());
            let place = place.as_ref().unwrap_or(prim.path());
            let material = self.bindings.material_of(self.stage, place);
            used.push(self.materials.add(
                self.stage,
                material.as_ref(),
                &outline.user,
                &mut self.builder,
                &mut self.warnings,
            ));
        }
        used
    }

    /// Adds a shape without a mesh to the node of its prim.
    fn draw_shape(&mut self, prim: &Prim, kind: &str, mut geometry: Geometry, node: &mut Json) {
        let material = self.bindings.material_of(self.stage, prim.path());
        let color = of(prim, "primvars:displayColor").and_then(vector::<3>);
        let user = MaterialUser {
            coords: Vec::new(),
            is_double_sided: shapes::is_double_sided(prim, kind),
            has_colors: color.is_some(),
            is_translucent: false,
        };
        let used = self.materials.add(
            self.stage,
            material.as_ref(),
            &user,
            &mut self.builder,
            &mut self.warnings,
        );
        if let Some([red, green, blue]) = color.filter(|_| used.shows_colors) {
            let color = [red, green, blue, 1.0].map(|part| part.clamp(0.0, 1.0));
            let colors = color.repeat(geometry.vertex_count());
            geometry
                .attributes
                .push(Attribute::new("COLOR_0", 4, colors));
        }
        let name = prim.path().name().unwrap_or_default();
        let mesh = self
            .builder
            .add_mesh(Some(name), vec![(geometry, Some(used.index))]);
        self.triangles = true;
        node["mesh"] = mesh.into();
    }

    /// The faces of each material of a mesh.
    fn parts_of(&mut self, prim: &Prim, surface: &UsdPolygons) -> Vec<MeshPart> {
        let mut left: Vec<Option<usize>> = surface.drawn_faces().into_iter().map(Some).collect();
        let place_of: HashMap<usize, usize> = left
            .iter()
            .enumerate()
            .filter_map(|(place, face)| Some(((*face)?, place)))
            .collect();
        let mut parts: Vec<MeshPart> = Vec::new();
        for child in prim.children().unwrap_or_default() {
            let kind = child.type_name().ok().flatten();
            let of_faces = text(&child, "elementType").is_none_or(|kind| kind == "face");
            if kind.is_none_or(|kind| kind.as_str() != "GeomSubset") || !of_faces {
                continue;
            }
            // Subsets of other families choose faces for other ends than materials.
            let family = text(&child, "familyName").unwrap_or_default();
            let counts = match family.as_str() {
                "materialBind" => true,
                family => family.is_empty() && self.bindings.has_own(self.stage, child.path()),
            };
            if !counts {
                continue;
            }
            let faces = of(&child, "indices").and_then(integers).unwrap_or_default();
            let faces: Vec<usize> = faces
                .into_iter()
                .filter_map(|face| left[*place_of.get(&usize::try_from(face).ok()?)?].take())
                .collect();
            if !faces.is_empty() {
                let subset = child.path().name().map(str::to_owned);
                parts.push(MeshPart { subset, faces });
            }
        }
        let rest: Vec<usize> = left.into_iter().flatten().collect();
        if !rest.is_empty() {
            let rest = MeshPart {
                subset: None,
                faces: rest,
            };
            parts.insert(0, rest);
        }
        parts
    }
}

/// A node's place as a matrix, or nothing.
fn matrix_of(matrix: DMat4) -> Json {
    match matrix == DMat4::IDENTITY {
        true => json!({}),
        false => json!({ "matrix": matrix.as_mat4().to_cols_array() }),
    }
}

/// A node's place as translation, rotation and scale.
pub(super) fn placed(matrix: DMat4) -> Json {
    let (scale, turn, place) = split(matrix);
    let mut json = json!({});
    if place != DVec3::ZERO {
        json["translation"] = json!(place.as_vec3().to_array());
    }
    if turn != DQuat::IDENTITY {
        json["rotation"] = json!(turn.as_quat().to_array());
    }
    if scale != DVec3::ONE {
        json["scale"] = json!(scale.as_vec3().to_array());
    }
    json
}

/// Scale, rotation and translation of a matrix.
pub(super) fn split(matrix: DMat4) -> (DVec3, DQuat, DVec3) {
    let (scale, turn, place) = matrix.to_scale_rotation_translation();
    match turn.is_finite() && scale.is_finite() && place.is_finite() {
        true => (scale, turn.normalize(), place),
        false => (DVec3::ZERO, DQuat::IDENTITY, matrix.w_axis.truncate()),
    }
}

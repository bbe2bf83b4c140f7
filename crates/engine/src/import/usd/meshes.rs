//! The meshes that prims draw, with their materials. Instances of a prototype share them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use glam::DVec3;
use openusd::usd::{Prim, Stage};
use serde_json::json;

use super::super::super::scene::{Attribute, Geometry};
use super::super::far::Offsets;
use super::super::scene_builder::SceneBuilder;
use super::bindings::Bindings;
use super::blend_shapes::{ShapeWeights, shapes_of};
use super::material::{MaterialUser, StageMaterials, UsedMaterial};
use super::primvar::{ColorKey, InheritedColors};
use super::resolver::Files;
use super::shapes;
use super::skin::Skeletons;
use super::surface::UsdPolygons;
use super::values::{flag, integers, of, text};
use super::warnings::Warnings;
use assetfs_formats::warnings::WarningKind;

/// A prim in a prototype, and the colours that an instance of it inherits.
type PrototypeKey = (String, ColorKey);

/// The meshes that were read so far.
pub(super) struct Meshes {
    materials: StageMaterials,
    bindings: Bindings,
    /// The meshes of prims in prototypes and their offsets, by the prim and its materials.
    shared: HashMap<(PrototypeKey, Vec<usize>), (usize, DVec3)>,
    offsets: Offsets,
    /// What is known of the meshes in prototypes, by the prim.
    outlines: HashMap<PrototypeKey, Rc<MeshOutline>>,
}

/// The stage that is read, and the scene that meshes are added to.
pub(super) struct MeshTarget<'r> {
    pub(super) stage: &'r Stage,
    pub(super) builder: &'r mut SceneBuilder,
    pub(super) warnings: &'r mut Warnings,
    pub(super) skeletons: &'r mut Skeletons,
}

/// What a node draws.
pub(super) struct DrawnMesh {
    pub(super) mesh: usize,
    /// What was subtracted from its points.
    pub(super) offset: DVec3,
    pub(super) skin: Option<usize>,
    /// The animation of its shape.
    pub(super) weights: Option<ShapeWeights>,
    /// The weights of its blend shapes at rest; empty without shapes.
    pub(super) at_rest: Vec<f32>,
}

/// What the instances of a mesh need without its points.
struct MeshOutline {
    points: usize,
    is_cage: bool,
    user: MaterialUser,
    /// The names of its blend shapes.
    shapes: Vec<String>,
    parts: Vec<MeshPart>,
}

/// Faces with one material: that of the subset of this name, or of the mesh.
struct MeshPart {
    subset: Option<String>,
    faces: Vec<usize>,
}

/// The animation of a mesh's blend shapes, and their weights at rest.
fn shape_weights(
    stage: &Stage,
    prim: &Prim,
    shapes: &[String],
) -> (Option<ShapeWeights>, Vec<f32>) {
    let weights = match shapes.is_empty() {
        true => None,
        false => ShapeWeights::of(stage, prim, shapes),
    };
    let at_rest = match &weights {
        Some(weights) => weights.at(None),
        None => vec![0.0; shapes.len()],
    };
    (weights, at_rest)
}

impl Meshes {
    pub(super) fn new(files: Rc<RefCell<Files>>) -> Meshes {
        Meshes {
            materials: StageMaterials::new(files),
            bindings: Bindings::default(),
            shared: HashMap::new(),
            offsets: Offsets::default(),
            outlines: HashMap::new(),
        }
    }

    /// The mesh of a prim; `None` if it draws nothing.
    pub(super) fn draw(
        &mut self,
        prim: &Prim,
        colors: &InheritedColors,
        to: &mut MeshTarget<'_>,
    ) -> Option<DrawnMesh> {
        let name = prim.path().name().unwrap_or_default();
        let prototype = prim.prim_in_prototype().ok().flatten();
        let prototype =
            prototype.map(|prototype| (prototype.path().as_str().to_owned(), colors.key()));
        let (outline, surface) = match self.outline_of(prim, prototype.as_ref(), colors, to) {
            Ok(found) => found,
            Err(what) => {
                let left_out = format!("mesh \"{name}\" is left out: {what}");
                to.warnings.add(WarningKind::Damaged, left_out);
                return None;
            }
        };
        if outline.parts.is_empty() {
            return None;
        }
        if outline.is_cage {
            to.warnings.cages += 1;
        }
        let skinned = to
            .skeletons
            .bind(to.stage, prim, outline.points, to.builder, to.warnings);
        let (weights, at_rest) = shape_weights(to.stage, prim, &outline.shapes);
        let used = self.materials_of(prim, &outline, to);
        let key = prototype.filter(|_| skinned.is_none()).map(|prototype| {
            let materials = used.iter().map(|material| material.index).collect();
            (prototype, materials)
        });
        let known = key.as_ref().and_then(|key| self.shared.get(key).copied());
        let (influences, skin) = skinned.unzip();
        let (mesh, offset) = match known {
            Some(known) => known,
            None => {
                // The outline was read from the same prim without an error.
                let surface =
                    surface.or_else(|| self.read_polygons(prim, colors, to.warnings).ok());
                let mut surface = surface?;
                surface.influences = influences;
                let geometries = outline.parts.iter().zip(&used).map(|(part, material)| {
                    let (geometry, rough_faces) =
                        surface.geometry(&part.faces, material.shows_colors);
                    to.warnings.rough_faces += rough_faces;
                    (geometry, Some(material.index))
                });
                let mesh = to.builder.add_mesh(Some(name), geometries.collect());
                if !outline.shapes.is_empty() {
                    let names = json!({ "targetNames": outline.shapes });
                    let content = json!({ "weights": at_rest, "extras": names });
                    to.builder.extend_mesh(mesh, content);
                }
                if let Some(key) = key {
                    self.shared.insert(key, (mesh, surface.offset));
                }
                (mesh, surface.offset)
            }
        };
        Some(DrawnMesh {
            mesh,
            offset,
            skin,
            weights,
            at_rest,
        })
    }

    /// The outline of a mesh, which instances share; with the mesh itself, if it was read for that.
    fn outline_of(
        &mut self,
        prim: &Prim,
        prototype: Option<&PrototypeKey>,
        colors: &InheritedColors,
        to: &mut MeshTarget<'_>,
    ) -> Result<(Rc<MeshOutline>, Option<UsdPolygons>), String> {
        let known = prototype.and_then(|prototype| self.outlines.get(prototype));
        if let Some(known) = known {
            return Ok((Rc::clone(known), None));
        }
        let surface = self.read_polygons(prim, colors, to.warnings)?;
        surface.warn(prim, to.warnings);
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
            shapes: surface.shape_names(),
            parts: self.parts_of(prim, &surface, to),
        });
        if let Some(prototype) = prototype {
            self.outlines.insert(prototype.clone(), Rc::clone(&outline));
        }
        Ok((outline, Some(surface)))
    }

    /// The material of each part of a mesh.
    fn materials_of(
        &mut self,
        prim: &Prim,
        outline: &MeshOutline,
        to: &mut MeshTarget<'_>,
    ) -> Vec<UsedMaterial> {
        let mut used = Vec::new();
        for part in &outline.parts {
            let subset = part.subset.as_deref();
            let place = subset.and_then(|name| prim.path().append_path(name).ok());
            let place = place.as_ref().unwrap_or(prim.path());
            let material = self.bindings.material_of(to.stage, place);
            used.push(self.materials.add(
                to.stage,
                material.as_ref(),
                &outline.user,
                to.builder,
                to.warnings,
            ));
        }
        used
    }

    /// The mesh of a shape that has no points.
    pub(super) fn draw_shape(
        &mut self,
        prim: &Prim,
        kind: &str,
        mut geometry: Geometry,
        colors: &InheritedColors,
        to: &mut MeshTarget<'_>,
    ) -> DrawnMesh {
        let material = self.bindings.material_of(to.stage, prim.path());
        let user = MaterialUser {
            coords: Vec::new(),
            is_double_sided: shapes::is_double_sided(prim, kind),
            has_colors: colors.shown().is_some(),
            is_translucent: colors.is_translucent(),
        };
        let used = self
            .materials
            .add(to.stage, material.as_ref(), &user, to.builder, to.warnings);
        if let Some([red, green, blue]) = colors.shown().filter(|_| used.shows_colors) {
            let color = [red, green, blue, colors.opacity.unwrap_or(1.0)];
            let color = color.map(|part| part.clamp(0.0, 1.0));
            let colors = color.repeat(geometry.vertex_count());
            geometry
                .attributes
                .push(Attribute::new("COLOR_0", 4, colors));
        }
        let name = prim.path().name().unwrap_or_default();
        let mesh = to
            .builder
            .add_mesh(Some(name), vec![(geometry, Some(used.index))]);
        DrawnMesh {
            mesh,
            offset: DVec3::ZERO,
            skin: None,
            weights: None,
            at_rest: Vec::new(),
        }
    }

    /// The faces of each material of a mesh.
    fn parts_of(
        &mut self,
        prim: &Prim,
        surface: &UsdPolygons,
        to: &MeshTarget<'_>,
    ) -> Vec<MeshPart> {
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
                family => family.is_empty() && self.bindings.has_own(to.stage, child.path()),
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

    /// The polygons of a mesh with the colours that it inherits and its blend shapes.
    fn read_polygons(
        &mut self,
        prim: &Prim,
        colors: &InheritedColors,
        warnings: &mut Warnings,
    ) -> Result<UsdPolygons, String> {
        let mut surface = UsdPolygons::of(prim, colors, &mut self.offsets)?;
        surface.shapes = shapes_of(prim, surface.points.len(), warnings);
        Ok(surface)
    }
}

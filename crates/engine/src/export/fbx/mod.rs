//! FBX 7.4, binary, in metres with y up: nodes, meshes, materials with their textures inside the file, skins, blend
//! shapes, animations of nodes.

mod angles;
mod animation;
mod binary;
mod document;
mod material;
mod mesh;
mod skin;
mod texture;

use std::collections::{BTreeMap, BTreeSet};

use glam::{DMat4, Mat4};

use super::super::scene::{Draw, MeshAtRest, Scene, index_in, indices_in, local_matrix};
use super::error::ExportError;
use super::format_limits::{FormatLimits, Loss, ScenePart};
use super::motion::{Placement, thinned_animations};
use super::texture_places::{CoordinateSets, with_transforms_applied};
use angles::angles_of;
use binary::{FbxValue, Record};
use document::{FbxDocument, ObjectId, ROOT, number, properties, property, triple};
use material::FbxMaterialObjects;

/// The bytes of an FBX file.
///
/// # Errors
/// If the file would be too large for the format.
pub fn write_fbx(scene: &Scene) -> Result<Vec<u8>, ExportError> {
    let scene = &*with_transforms_applied(scene, CoordinateSets::Many);
    let mut draws: BTreeMap<usize, Vec<Draw>> = BTreeMap::new();
    for draw in scene.draws() {
        draws.entry(draw.node).or_default().push(draw);
    }
    let skins = scene.list("skins").iter();
    let joints = skins.flat_map(|skin| indices_in(skin, "joints"));
    let mut writer = Writer {
        scene,
        draws,
        joints: joints.collect(),
        document: FbxDocument::default(),
        materials: FbxMaterialObjects::new(scene),
        models: vec![None; scene.list("nodes").len()],
        meshes: BTreeMap::new(),
    };
    for root in scene.roots() {
        writer.write_node(root, ROOT);
    }
    writer.write_skinned();
    for animation in scene.list("animations") {
        animation::add(scene, animation, &writer.models, &mut writer.document);
    }
    writer.document.finish()
}

struct Writer<'s> {
    scene: &'s Scene,
    draws: BTreeMap<usize, Vec<Draw>>,
    /// The nodes that are joints of a skin.
    joints: BTreeSet<usize>,
    document: FbxDocument,
    materials: FbxMaterialObjects<'s>,
    /// The objects of nodes.
    models: Vec<Option<ObjectId>>,
    /// Meshes without a skin, which may be drawn several times.
    meshes: BTreeMap<MeshAtRest, Option<mesh::FbxMesh>>,
}

impl Writer<'_> {
    fn write_node(&mut self, node: usize, parent: ObjectId) {
        let json = &self.scene.list("nodes")[node];
        let name = json["name"].as_str().unwrap_or("node");
        let placement = Placement::of(local_matrix(json));
        let drawn: Vec<Draw> = self.draws.get(&node).cloned().unwrap_or_default();
        let drawn: Vec<Draw> = drawn
            .into_iter()
            .filter(|draw| draw.joints.is_none())
            .collect();
        let is_one = drawn.len() == 1 && drawn[0].placed == Mat4::IDENTITY;
        let is_joint = self.joints.contains(&node);
        let kind = match (is_one, is_joint) {
            (true, _) => "Mesh",
            (false, true) => "LimbNode",
            (false, false) => "Null",
        };
        let model = self.add_model(name, kind, &placement, parent);
        self.models[node] = Some(model);
        if is_joint && !is_one {
            let records = vec![
                properties([number("Size", 1.0)]),
                Record::of("TypeFlags", "Skeleton"),
            ];
            let attribute = self.document.add(
                "NodeAttribute",
                (name, "NodeAttribute"),
                "LimbNode",
                records,
            );
            self.document.connect(attribute, model);
        }
        if is_one {
            self.draw(&drawn[0], model);
        } else {
            // Instances are models of their own.
            for draw in &drawn {
                let instance =
                    self.add_model(name, "Mesh", &Placement::of(draw.placed.as_dmat4()), model);
                self.draw(draw, instance);
            }
        }
        for child in indices_in(json, "children") {
            self.write_node(child, model);
        }
    }

    fn add_model(
        &mut self,
        name: &str,
        kind: &str,
        placement: &Placement,
        parent: ObjectId,
    ) -> ObjectId {
        let angles = angles_of(placement.rotation, None);
        let records = vec![
            Record::of("Version", 232),
            properties([
                property("InheritType", "enum", "", [1.into()]),
                triple("Lcl Translation", placement.translation.to_array()),
                triple("Lcl Rotation", angles),
                triple("Lcl Scaling", placement.scale.to_array()),
            ]),
            Record::of("Shading", FbxValue::I16(1)),
            Record::of("Culling", "CullingOff"),
        ];
        let model = self.document.add("Model", (name, "Model"), kind, records);
        self.document.connect(model, parent);
        model
    }

    /// Connects a mesh and its materials to a model.
    fn draw(&mut self, draw: &Draw, model: ObjectId) {
        let at_rest = draw.mesh_at_rest();
        if !self.meshes.contains_key(&at_rest) {
            let made = mesh::add(self.scene, draw.mesh, &mut self.document);
            if let Some(made) = &made {
                let name = self.scene.meshes[draw.mesh].name().unwrap_or("mesh");
                skin::add_shapes(self.scene, draw, (made, name), &mut self.document);
            }
            self.meshes.insert(at_rest.clone(), made);
        }
        let Some(Some(made)) = self.meshes.get(&at_rest) else {
            return;
        };
        connect_mesh(made, model, &mut self.materials, &mut self.document);
    }

    /// Skinned meshes are children of the root, because their joints define their place in the world.
    fn write_skinned(&mut self) {
        let draws: Vec<Draw> = self
            .draws
            .values()
            .flatten()
            .filter(|draw| draw.joints.is_some())
            .cloned()
            .collect();
        for draw in draws {
            let Some(made) = mesh::add(self.scene, draw.mesh, &mut self.document) else {
                continue;
            };
            let json = &self.scene.list("nodes")[draw.node];
            let mesh_name = self.scene.meshes[draw.mesh].name().unwrap_or("mesh");
            let name = json["name"].as_str().unwrap_or(mesh_name);
            let model = self.add_model(name, "Mesh", &Placement::of(DMat4::IDENTITY), ROOT);
            connect_mesh(&made, model, &mut self.materials, &mut self.document);
            if let Some(skin) = index_in(json, "skin") {
                skin::add_skin(
                    self.scene,
                    skin,
                    (&made, mesh_name),
                    &self.models,
                    &mut self.document,
                );
            }
            skin::add_shapes(self.scene, &draw, (&made, mesh_name), &mut self.document);
        }
    }
}

fn connect_mesh(
    made: &mesh::FbxMesh,
    model: ObjectId,
    materials: &mut FbxMaterialObjects<'_>,
    document: &mut FbxDocument,
) {
    document.connect(made.id, model);
    for material in &made.materials {
        let material = materials.add(*material, document);
        document.connect(material, model);
    }
}

/// What is lost of a scene in FBX.
pub(super) const LIMITS: FormatLimits = FormatLimits {
    loss: |part| match part {
        ScenePart::DoubleSided => {
            Loss::Changed("only readers of the glTF material of 3ds Max know of them")
        }
        ScenePart::AlphaCutoffs => Loss::Changed("these materials are blended"),
        ScenePart::Unlit => Loss::Changed("they are lit"),
        ScenePart::OtherScenes
        | ScenePart::Cameras
        | ScenePart::Lights
        | ScenePart::Variants
        | ScenePart::MorphAnimations
        | ScenePart::PointsAndLines
        | ScenePart::OcclusionTextures
        | ScenePart::MirroredTextures => Loss::Total,
        ScenePart::Animations
        | ScenePart::Skins
        | ScenePart::MorphTargets
        | ScenePart::Coordinates
        | ScenePart::MoreCoordinates
        | ScenePart::VertexColors
        | ScenePart::TexturedVertexColors
        | ScenePart::VertexAlpha
        | ScenePart::Materials
        | ScenePart::SurfaceTextures
        | ScenePart::NormalStrength
        | ScenePart::ClampedTextures
        | ScenePart::StrongEmission
        // Applied to the coordinates.
        | ScenePart::TextureTransforms
        // Named with its extension.
        | ScenePart::ClearcoatTextures => Loss::Nothing,
    },
    coordinate_sets: Some(CoordinateSets::Many),
    material_extensions: &[],
    others: |scene| {
        let animations = scene.list("animations");
        thinned_animations(scene, animations, animation::TURN_STEP, "fbx")
    },
};

//! The stage: nodes as transforms, primitives as meshes, references to meshes that are drawn more than once.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use glam::{DMat4, DVec3, Mat4};

use super::super::super::scene::{Draw, Scene, index_in, indices_in, local_matrix};
use super::super::motion::{NodeMotion, Placement};
use super::geometry::{write_geometry, write_influences};
use super::identifiers::unique;
use super::lines::Lines;
use super::material::UsdMaterials;
use super::shared::{SHARED_MESHES, SharedMeshes};
use super::skeleton::{
    TIME_CODES_PER_SECOND, UsdSkeleton, floats, matrix, quaternion, track, triple,
};

/// A stage and the images that it names.
pub(super) struct Stage {
    pub(super) text: String,
    pub(super) images: Vec<(String, Bytes)>,
}

pub(super) fn write_stage(scene: &Scene) -> Stage {
    let mut draws: BTreeMap<usize, Vec<Draw>> = BTreeMap::new();
    let mut skinned: BTreeMap<usize, Vec<Draw>> = BTreeMap::new();
    for draw in scene.draws() {
        let skin = index_in(&scene.list("nodes")[draw.node], "skin");
        match skin.filter(|_| draw.joints.is_some()) {
            Some(skin) => skinned.entry(skin).or_default().push(draw),
            // Its vertices are written in the space of its node.
            None => draws.entry(draw.node).or_default().push(Draw {
                joints: None,
                world: draw.placed,
                ..draw
            }),
        }
    }
    let skins: Vec<(UsdSkeleton, Vec<Draw>)> = skinned
        .into_iter()
        .map(|(skin, draws)| (UsdSkeleton::of(scene, skin), draws))
        .collect();
    let trees: Vec<_> = skins.iter().map(|(skeleton, _)| &skeleton.tree).collect();
    let animation = scene.list("animations").first();
    let motion = animation.and_then(|animation| NodeMotion::of(scene, animation, &trees, None));
    let mut writer = StageWriter {
        scene,
        shown: shown_nodes(scene, &draws),
        shared: SharedMeshes::of(scene, draws.values().flatten()),
        draws,
        materials: UsdMaterials::new(scene),
        motion,
        text: Lines::new(1),
    };
    writer.write_roots(&skins);
    let (materials, images) = writer.materials.finish();
    let end = writer
        .motion
        .as_ref()
        .and_then(|motion| motion.times.last());
    let times = end.map_or_else(String::new, |end| {
        format!(
            "    startTimeCode = 0\n    endTimeCode = {}\n    timeCodesPerSecond = {TIME_CODES_PER_SECOND}\n",
            end * TIME_CODES_PER_SECOND
        )
    });
    let header = format!(
        "#usda 1.0\n(\n    defaultPrim = \"Root\"\n    metersPerUnit = 1\n{times}    upAxis = \"Y\"\n)\n\n"
    );
    let root = "def Xform \"Root\" (\n    kind = \"component\"\n)\n{\n";
    Stage {
        text: format!("{header}{root}{}{materials}}}\n", writer.text.finish()),
        images,
    }
}

/// The nodes that draw something themselves or below them.
fn shown_nodes(scene: &Scene, draws: &BTreeMap<usize, Vec<Draw>>) -> Vec<bool> {
    let parents = scene.parents();
    let mut shown = vec![false; parents.len()];
    for node in draws.keys() {
        let mut next = Some(*node);
        while let Some(node) = next.filter(|node| !shown[*node]) {
            shown[node] = true;
            next = parents[node];
        }
    }
    shown
}

struct StageWriter<'s> {
    scene: &'s Scene,
    /// The nodes that are written.
    shown: Vec<bool>,
    /// What nodes draw, without skins.
    draws: BTreeMap<usize, Vec<Draw>>,
    shared: SharedMeshes,
    materials: UsdMaterials<'s>,
    motion: Option<NodeMotion>,
    text: Lines,
}

impl StageWriter<'_> {
    fn write_roots(&mut self, skins: &[(UsdSkeleton, Vec<Draw>)]) {
        // The names of the scopes are taken among the root prims.
        let mut taken: BTreeSet<String> = ["Materials".to_owned()].into();
        if !self.shared.is_empty() {
            taken.insert(SHARED_MESHES.to_owned());
            self.write_shared();
        }
        for node in self.scene.roots() {
            self.write_node(node, &mut taken);
        }
        for (index, (skeleton, draws)) in skins.iter().enumerate() {
            let name = unique("Skin", &mut taken);
            self.write_skin(&name, index, skeleton, draws);
        }
    }

    /// Writes the meshes that are drawn more than once, in prims that draw nothing themselves.
    fn write_shared(&mut self) {
        self.text.line(&format!("class Scope \"{SHARED_MESHES}\""));
        self.text.open();
        for (name, draw) in self.shared.take_meshes() {
            self.text.line(&format!("def Xform \"{name}\""));
            self.text.open();
            self.write_mesh(&draw, &mut BTreeSet::new(), None);
            self.text.close();
        }
        self.text.close();
    }

    /// Writes a skin with its skeleton, its part of the animation and its meshes.
    fn write_skin(&mut self, name: &str, index: usize, skeleton: &UsdSkeleton, draws: &[Draw]) {
        let path = format!("/Root/{name}");
        let bound = "    prepend apiSchemas = [\"SkelBindingAPI\"]";
        self.text.line(&format!("def SkelRoot \"{name}\" ("));
        self.text.line(bound);
        self.text.line(")");
        self.text.open();
        // Joints are measured from the scene's origin.
        if self.scene.origin != DVec3::ZERO {
            self.write_matrix(DMat4::from_translation(self.scene.origin));
        }
        let clip = self.motion.as_ref().map(|motion| {
            let name = motion.name.as_deref().unwrap_or("Animation");
            let lines = skeleton.clip_lines(&motion.times, &motion.joints[index]);
            (name.to_owned(), lines)
        });
        let mut taken: BTreeSet<String> = ["Skeleton".to_owned()].into();
        self.text.line("def Skeleton \"Skeleton\" (");
        self.text.line(bound);
        self.text.line(")");
        self.text.open();
        for line in skeleton.lines() {
            self.text.line(&line);
        }
        let clip = clip.map(|(name, lines)| (unique(&name, &mut taken), lines));
        if let Some((clip, _)) = &clip {
            self.text
                .line(&format!("rel skel:animationSource = <{path}/{clip}>"));
        }
        self.text.close();
        if let Some((clip, lines)) = clip {
            self.text.line(&format!("def SkelAnimation \"{clip}\""));
            self.text.open();
            for line in lines {
                self.text.line(&line);
            }
            self.text.close();
        }
        for draw in draws {
            let unbound = Draw {
                joints: None,
                world: Mat4::IDENTITY,
                ..draw.clone()
            };
            self.write_mesh(&unbound, &mut taken, Some((skeleton, &path)));
        }
        self.text.close();
    }

    fn write_node(&mut self, node: usize, taken: &mut BTreeSet<String>) {
        if !self.shown[node] {
            return;
        }
        let json = &self.scene.list("nodes")[node];
        let name = unique(json["name"].as_str().unwrap_or("node"), taken);
        self.text.line(&format!("def Xform \"{name}\""));
        self.text.open();
        match self.placements(node, local_matrix(json)) {
            Some(lines) => lines.iter().for_each(|line| self.text.line(line)),
            None => self.write_matrix(local_matrix(json)),
        }
        let mut inner = BTreeSet::new();
        for draw in self.draws.remove(&node).unwrap_or_default() {
            match self.shared.path_of(&draw) {
                Some(path) => self.write_reference(&path, &draw, &mut inner),
                None => self.write_mesh(&draw, &mut inner, None),
            }
        }
        for child in indices_in(json, "children") {
            self.write_node(child, &mut inner);
        }
        self.text.close();
    }

    /// The lines of a node that moves: its place at rest and at each time.
    fn placements(&self, node: usize, rest: DMat4) -> Option<Vec<String>> {
        let motion = self.motion.as_ref()?;
        let tracks = motion.nodes.get(&node)?;
        let rest = Placement::of(rest);
        let part = |name: &str, text: &dyn Fn(&Placement) -> String| {
            let values: Vec<String> = tracks.iter().map(text).collect();
            let rest = text(&rest);
            let mut lines = vec![format!("{name} = {rest}")];
            if values.iter().any(|value| *value != rest) {
                lines.push(track(name, &motion.times, &values));
            }
            lines
        };
        let mut lines = part("double3 xformOp:translate", &|it| {
            triple(it.translation.to_array())
        });
        lines.extend(part("quatf xformOp:orient", &quaternion));
        lines.extend(part("float3 xformOp:scale", &|it| floats(it.scale)));
        lines.push(
            "uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\", \"xformOp:scale\"]"
                .to_owned(),
        );
        Some(lines)
    }

    fn write_matrix(&mut self, matrix: DMat4) {
        if matrix == DMat4::IDENTITY {
            return;
        }
        self.text.line(&format!(
            "matrix4d xformOp:transform = {}",
            self::matrix(&matrix)
        ));
        self.text
            .line("uniform token[] xformOpOrder = [\"xformOp:transform\"]");
    }

    /// Draws a shared mesh at the place of the draw in its node.
    fn write_reference(&mut self, path: &str, draw: &Draw, taken: &mut BTreeSet<String>) {
        let base = self.scene.meshes[draw.mesh].name().unwrap_or("mesh");
        let name = unique(base, taken);
        self.text.line(&format!("def Xform \"{name}\" ("));
        self.text.line("    instanceable = true");
        self.text
            .line(&format!("    prepend references = <{path}>"));
        self.text.line(")");
        self.text.open();
        self.write_matrix(draw.placed.as_dmat4());
        self.text.close();
    }

    /// Writes the primitives of a mesh: in its node, or with its skeleton and the path of that one's root. Morph targets are
    /// applied to the vertices here.
    fn write_mesh(
        &mut self,
        draw: &Draw,
        taken: &mut BTreeSet<String>,
        skin: Option<(&UsdSkeleton, &str)>,
    ) {
        let mesh = &self.scene.meshes[draw.mesh];
        let base = mesh.name().unwrap_or("mesh").to_owned();
        for primitive in &mesh.primitives {
            let geometry = &self.scene.geometries[primitive.geometry];
            if geometry.triangle_count() == 0 {
                continue;
            }
            let name = unique(&base, taken);
            self.text.line(&format!("def Mesh \"{name}\" ("));
            let schemas = match skin {
                None => "\"MaterialBindingAPI\"",
                Some(_) => "\"MaterialBindingAPI\", \"SkelBindingAPI\"",
            };
            self.text
                .line(&format!("    prepend apiSchemas = [{schemas}]"));
            self.text.line(")");
            self.text.open();
            let shows_colors = geometry.attribute("COLOR_0").is_some()
                && self.materials.can_show_colors(primitive.material);
            let tint = self.materials.tint_of(primitive.material, shows_colors);
            write_geometry(&mut self.text, draw, geometry, tint);
            if let Some((skeleton, path)) = skin {
                write_influences(&mut self.text, skeleton, geometry);
                self.text
                    .line(&format!("rel skel:skeleton = <{path}/Skeleton>"));
            }
            let material = self.materials.path_of(primitive.material, shows_colors);
            let is_double_sided = self.scene.material(primitive.material).double_sided;
            if is_double_sided {
                self.text.line("uniform bool doubleSided = 1");
            }
            self.text
                .line(&format!("rel material:binding = <{material}>"));
            self.text.line("uniform token subdivisionScheme = \"none\"");
            self.text.close();
        }
    }
}

//! Positions as whole numbers of 16 bits, which `KHR_mesh_quantization` allows: the numbers of steps to which packing rounds
//! them anyway, so what is drawn stays the same. The nodes that draw them are scaled by the step ([`super::scaled_nodes`]).
//!
//! Positions stay floats where that could change what a viewer shows (skins, instances, extensions that measure in the
//! space of a mesh or change nodes), and where it would save no bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::super::super::alike::Sets;
use super::super::super::scene::{Attribute, Geometry, Mesh, Scene, Storage};
use super::super::encoding::{add_limits, element_of, encode_rows};
use super::super::meshopt_views::{Packing, pack};
use super::super::rounding::{self, Step, Steps};
use super::compact::shorten_numbers;
use super::scaled_nodes::Nodes;

/// Extensions that neither measure in the space of a mesh nor name its nodes, besides those of materials and textures.
const HARMLESS: [&str; 8] = [
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_node_visibility",
    "KHR_xmp_json_ld",
];
/// Families of such extensions, and the one of them whose thickness is measured in the space of the mesh.
const HARMLESS_FAMILIES: [&str; 3] = ["KHR_materials_", "KHR_texture_", "EXT_texture_"];
const VOLUME: &str = "KHR_materials_volume";
/// Bytes of JSON of a packed view more.
const JSON_OF_VIEW: i64 = 240;
/// Bytes of JSON that name the extension, twice.
const JSON_OF_EXTENSION: i64 = 50;

/// The step of each geometry whose positions are stored as integers; `None` if they are stored as floats.
pub(super) struct WholePositions(Vec<Option<Step>>);

impl WholePositions {
    pub(super) fn none(scene: &Scene) -> WholePositions {
        WholePositions(vec![None; scene.geometries.len()])
    }

    /// Chooses the geometries, and scales the nodes in `json` that draw them.
    pub(super) fn choose(
        scene: &Scene,
        steps: &Steps,
        json: &mut Map<String, Value>,
    ) -> WholePositions {
        let mut chosen = WholePositions::none(scene);
        if !extensions_allow(scene) {
            return chosen;
        }
        let nodes = Nodes::of(scene);
        let mut saved = 0;
        let mut scaled = Vec::new();
        for group in groups(scene) {
            let found = group.step(scene, steps).and_then(|step| {
                let cost = nodes.cost(&group.meshes, step)?;
                let saved = group.saved(scene, steps, step) - cost;
                (saved > 0).then_some((step, saved))
            });
            if let Some((step, bytes)) = found {
                saved += bytes;
                scaled.push((group, step));
            }
        }
        let stay: usize = scaled.iter().map(|(group, _)| group.geometries.len()).sum();
        if stay < scene.geometries.len() {
            saved -= JSON_OF_VIEW;
        }
        let has_normals = |geometry: &Geometry| geometry.attribute("NORMAL").is_some();
        if !scene.geometries.iter().any(has_normals) {
            saved -= JSON_OF_EXTENSION;
        }
        if saved > 0 {
            for (group, step) in scaled {
                nodes.scale(json, &group.meshes, step);
                for geometry in group.geometries {
                    chosen.0[geometry] = Some(step);
                }
            }
        }
        chosen
    }

    /// The attribute as it is stored: positions, and their displacements, in steps where they are whole numbers.
    pub(super) fn stored<'a>(
        &self,
        geometry: usize,
        attribute: &'a Attribute,
    ) -> Cow<'a, Attribute> {
        match self.0[geometry].filter(|_| attribute.name == "POSITION") {
            Some(step) => Cow::Owned(in_steps(attribute, step)),
            None => Cow::Borrowed(attribute),
        }
    }
}

fn extensions_allow(scene: &Scene) -> bool {
    let mut names = scene
        .list("extensionsUsed")
        .iter()
        .filter_map(Value::as_str);
    names.all(|name| {
        let is_family = HARMLESS_FAMILIES
            .iter()
            .any(|family| name.starts_with(family));
        name != VOLUME && (is_family || HARMLESS.contains(&name))
    })
}

fn in_steps(attribute: &Attribute, step: Step) -> Attribute {
    let length = step.length();
    let steps = attribute.values.iter();
    // The sum has no negative zero.
    let steps = steps.map(|number| (f64::from(*number) / length).round() as f32 + 0.0);
    Attribute {
        storage: Storage::WHOLE,
        ..Attribute::new(&attribute.name, attribute.components, steps.collect())
    }
}

/// Meshes that share geometries, directly or through others: their nodes get one scale.
#[derive(Default)]
struct Group {
    meshes: Vec<usize>,
    geometries: BTreeSet<usize>,
}

fn groups(scene: &Scene) -> Vec<Group> {
    let used = |mesh: &Mesh| -> Vec<u32> {
        let primitives = mesh.primitives.iter();
        primitives
            .map(|primitive| primitive.geometry as u32)
            .collect()
    };
    let mut sets = Sets::new(scene.geometries.len());
    for mesh in &scene.meshes {
        used(mesh)
            .windows(2)
            .for_each(|pair| sets.join(pair[0], pair[1]));
    }
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for (place, mesh) in scene.meshes.iter().enumerate() {
        let used = used(mesh);
        if let Some(first) = used.first() {
            let group = groups.entry(sets.root(*first)).or_default();
            group.meshes.push(place);
            let used = used.into_iter().map(|geometry| geometry as usize);
            group.geometries.extend(used);
        }
    }
    groups.into_values().collect()
}

impl Group {
    fn positions<'s>(
        &'s self,
        scene: &'s Scene,
    ) -> impl Iterator<Item = (usize, &'s Attribute)> + 's {
        self.geometries.iter().flat_map(|place| {
            let geometry = &scene.geometries[*place];
            let all = geometry
                .targets
                .iter()
                .flatten()
                .chain(&geometry.attributes);
            let positions = all.filter(|attribute| attribute.name == "POSITION");
            positions.map(move |attribute| (*place, attribute))
        })
    }

    /// The finest step of the group, if every position, counted in such steps, fits into 16 bits.
    fn step(&self, scene: &Scene, steps: &Steps) -> Option<Step> {
        let step = self
            .geometries
            .iter()
            .map(|place| steps.of_geometry(*place))
            .min()?;
        let most = step.length() * f64::from(i16::MAX);
        let fits = |attribute: &Attribute| {
            let mut numbers = attribute.values.iter();
            attribute.storage == Storage::FLOAT && numbers.all(|it| f64::from(it.abs()) <= most)
        };
        let fit = step.scales() && self.positions(scene).all(|(_, attribute)| fits(attribute));
        fit.then_some(step)
    }

    /// Bytes that whole numbers of this step take less than floats.
    fn saved(&self, scene: &Scene, steps: &Steps, step: Step) -> i64 {
        let length = |packing, bytes: &[u8]| {
            let packed = pack(packing, bytes).map_or(bytes.len(), |packed| packed.bytes.len());
            packed.min(bytes.len()) as i64
        };
        let saved = self.positions(scene).map(|(place, attribute)| {
            let floats = rounding::stepped(&attribute.values, steps.of_geometry(place));
            let whole = in_steps(attribute, step);
            let mut bytes = Vec::with_capacity(whole.count() * 8);
            let element = element_of(attribute.components);
            encode_rows(&mut bytes, &whole.values, element, whole.storage, 8);
            let packed =
                length(Packing::Exponential(12), &floats.0) - length(Packing::Plain(8), &bytes);
            packed + limits_len(&floats.1) - limits_len(&whole.values)
        });
        saved.sum()
    }
}

/// Length of the JSON of the least and greatest numbers of positions.
fn limits_len(values: &[f32]) -> i64 {
    let mut limits = Map::new();
    add_limits(&mut limits, values, 3);
    shorten_numbers(&mut limits);
    Value::Object(limits).to_string().len() as i64
}

//! Point instancers: prototypes that are drawn at many places.

use std::collections::HashSet;

use glam::{DMat4, DQuat, DVec3};
use openusd::sdf::Value;
use openusd::usd::Prim;
use serde_json::json;

use super::super::ImportError;
use super::moved::MovedNode;
use super::nodes::{Inherited, Reader, placed};
use super::values::{integers, of, targets, vectors};

/// A prototype that was read for its first instance.
struct Prototype {
    /// Its nodes, children first.
    tree: Vec<usize>,
    /// Instances of point instancers in it.
    instances: u64,
    /// Its nodes that change over time.
    moved: Vec<MovedNode>,
}

/// The nodes of the instances.
pub(super) fn read(
    reader: &mut Reader<'_>,
    prim: &Prim,
    inherited: &Inherited,
) -> Result<Vec<usize>, ImportError> {
    warn_of_motion(reader, prim);
    let prototypes = targets(prim, "prototypes");
    let places = InstancePlaces::of(prim);
    let mut read: Vec<Option<Option<Prototype>>> = prototypes.iter().map(|_| None).collect();
    let mut nodes = Vec::new();
    for (at, index) in shown(prim, places.positions.len(), read.len()) {
        reader.count.instances += 1;
        if let Some(Some(known)) = &read[index] {
            reader.count.instances += known.instances;
            reader.count.copies += known.tree.len() as u64;
        }
        reader.check_count()?;
        let node = match &read[index] {
            Some(known) => known.as_ref().and_then(|known| copy(reader, known)),
            None => {
                let target = prim.stage().prim(prototypes[index].clone());
                let first = read_prototype(reader, &target, inherited)?;
                let node = first.as_ref().and_then(|it| it.tree.last().copied());
                read[index] = Some(first);
                node
            }
        };
        let Some(node) = node else { continue };
        let mut instance = placed(places.at(at));
        instance["children"] = json!([node]);
        nodes.push(reader.builder.add_node(instance));
    }
    Ok(nodes)
}

/// The instances of a point instancer that are drawn: the number of each, which is that of its place, and the number of
/// its prototype.
pub(super) fn shown(prim: &Prim, places: usize, prototypes: usize) -> Vec<(usize, usize)> {
    let chosen = of(prim, "protoIndices").and_then(integers);
    let ids = of(prim, "ids").and_then(integers);
    let hidden = hidden_ids(prim);
    let is_shown = |at: usize| {
        let id = ids.as_ref().and_then(|ids| ids.get(at).copied());
        !hidden.contains(&id.unwrap_or(at as i64))
    };
    let chosen = chosen.unwrap_or_default().into_iter().enumerate();
    chosen
        .take(places)
        .filter(|(at, _)| is_shown(*at))
        .filter_map(|(at, index)| Some((at, usize::try_from(index).ok()?)))
        .filter(|(_, index)| *index < prototypes)
        .collect()
}

fn read_prototype(
    reader: &mut Reader<'_>,
    target: &Prim,
    inherited: &Inherited,
) -> Result<Option<Prototype>, ImportError> {
    let (mark, before) = (reader.moved.mark(), reader.count.instances);
    let Some(node) = reader.read(target, inherited)? else {
        return Ok(None);
    };
    Ok(Some(Prototype {
        tree: reader.builder.tree_of(node),
        instances: reader.count.instances - before,
        moved: reader.moved.nodes_since(mark),
    }))
}

/// The root of a copy of a prototype, which changes over time like the first.
fn copy(reader: &mut Reader<'_>, prototype: &Prototype) -> Option<usize> {
    if reader.builder.has_skin(&prototype.tree) {
        reader.warnings.add(
            "a prototype of a point instancer is moved by a skeleton; all its instances are drawn where the first one is"
                .to_owned(),
        );
    }
    let copies = reader.builder.copy_tree(&prototype.tree);
    reader.moved.add_copies(&prototype.moved, &copies);
    copies.get(prototype.tree.last()?).copied()
}

/// The ids of instances that are not drawn.
fn hidden_ids(prim: &Prim) -> HashSet<i64> {
    let invisible = of(prim, "invisibleIds").and_then(integers);
    // Metadata of the prim, which the library reads by a path of any kind.
    let field = prim.stage().attribute(prim.path().clone());
    let inactive = field.get_metadata::<Value>("inactiveIds").ok().flatten();
    let inactive = inactive.and_then(|ids| match ids {
        Value::Int64ListOp(ids) => Some(ids.flatten()),
        other => integers(other),
    });
    let ids = invisible.into_iter().chain(inactive).flatten();
    ids.collect()
}

fn warn_of_motion(reader: &mut Reader<'_>, prim: &Prim) {
    let names = [
        "protoIndices",
        "positions",
        "orientations",
        "orientationsf",
        "scales",
        "invisibleIds",
    ];
    let changes = |name: &str| {
        let times = prim.attribute(name).time_sample_times();
        times.is_ok_and(|times| times.len() > 1)
    };
    if names.into_iter().any(changes) {
        reader.warnings.add(format!(
            "point instancer \"{}\": its instances change over time, which is not read",
            prim.path().name().unwrap_or_default()
        ));
    }
}

/// Where the instances are.
struct InstancePlaces {
    positions: Vec<[f32; 3]>,
    turns: Vec<[f32; 4]>,
    sizes: Vec<[f32; 3]>,
}

impl InstancePlaces {
    fn of(prim: &Prim) -> InstancePlaces {
        let turns = of(prim, "orientationsf").or_else(|| of(prim, "orientations"));
        InstancePlaces {
            positions: of(prim, "positions").and_then(vectors).unwrap_or_default(),
            turns: turns.and_then(vectors).unwrap_or_default(),
            sizes: of(prim, "scales").and_then(vectors).unwrap_or_default(),
        }
    }

    fn at(&self, at: usize) -> DMat4 {
        let turn = self.turns.get(at);
        let turn = turn
            .map(|turn| DQuat::from_array(turn.map(f64::from)))
            .filter(|turn| turn.length_squared() > 0.0)
            .unwrap_or(DQuat::IDENTITY);
        let size = self.sizes.get(at);
        let size = size.map_or(DVec3::ONE, |size| DVec3::from_array(size.map(f64::from)));
        let place = DVec3::from_array(self.positions[at].map(f64::from));
        DMat4::from_scale_rotation_translation(size, turn.normalize(), place)
    }
}

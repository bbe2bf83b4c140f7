//! Point instancers: prototypes that are drawn at many places.

use openusd::usd::Prim;
use serde_json::json;

use super::super::error::ImportError;
use super::instances::{InstancePlaces, shown};
use super::moved::MovedNode;
use super::nodes::{Inherited, Reader};
use super::placement::placed;
use super::values::targets;
use assetfs_formats::warnings::WarningKind;

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
            WarningKind::NotRead,
            "a prototype of a point instancer is moved by a skeleton; all its instances are drawn where the first one is",
        );
    }
    let copies = reader.builder.copy_tree(&prototype.tree);
    reader.moved.add_copies(&prototype.moved, &copies);
    copies.get(prototype.tree.last()?).copied()
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
        reader.warnings.add(
            WarningKind::NotRead,
            format!(
                "point instancer \"{}\": its instances change over time, which is not read",
                prim.path().name().unwrap_or_default()
            ),
        );
    }
}

//! Point instancers: prototypes that are drawn at many places.

use glam::{DMat4, DQuat, DVec3};
use openusd::usd::Prim;
use serde_json::json;

use super::super::ImportError;
use super::nodes::{Inherited, Reader, placed};
use super::values::{integers, of, targets, vectors};

/// More instances in one file are left out: each is a node at least.
const MAX_INSTANCES: usize = 200_000;

/// The nodes of the instances.
pub(super) fn read(
    reader: &mut Reader<'_>,
    prim: &Prim,
    inherited: &Inherited,
) -> Result<Vec<usize>, ImportError> {
    let prototypes = targets(prim, "prototypes");
    let chosen = of(prim, "protoIndices")
        .and_then(integers)
        .unwrap_or_default();
    let places: Vec<[f32; 3]> = of(prim, "positions").and_then(vectors).unwrap_or_default();
    let turns = of(prim, "orientationsf").or_else(|| of(prim, "orientations"));
    let turns: Vec<[f32; 4]> = turns.and_then(vectors).unwrap_or_default();
    let sizes: Vec<[f32; 3]> = of(prim, "scales").and_then(vectors).unwrap_or_default();
    let ids = of(prim, "ids").and_then(integers);
    let hidden = of(prim, "invisibleIds")
        .and_then(integers)
        .unwrap_or_default();
    // The nodes of each prototype, once they are read.
    let mut read: Vec<Option<Option<usize>>> = vec![None; prototypes.len()];
    let mut nodes = Vec::new();
    for (at, (prototype, place)) in chosen.iter().zip(&places).enumerate() {
        let id = ids.as_ref().and_then(|ids| ids.get(at).copied());
        if hidden.contains(&id.unwrap_or(at as i64)) {
            continue;
        }
        if reader.instances >= MAX_INSTANCES {
            reader.warnings.add(format!(
                "only {MAX_INSTANCES} instances of point instancers are read"
            ));
            break;
        }
        let Some(index) = usize::try_from(*prototype)
            .ok()
            .filter(|index| *index < read.len())
        else {
            continue;
        };
        let node = match read[index] {
            Some(known) => known.map(|node| reader.builder.copy_tree(node)),
            None => {
                let target = prim.stage().prim(prototypes[index].clone());
                let node = reader.read(&target, inherited)?;
                read[index] = Some(node);
                node
            }
        };
        let Some(node) = node else { continue };
        let turn = turns
            .get(at)
            .map(|turn| DQuat::from_array(turn.map(f64::from)));
        let turn = turn
            .filter(|turn| turn.length_squared() > 0.0)
            .unwrap_or(DQuat::IDENTITY);
        let size = sizes
            .get(at)
            .map_or(DVec3::ONE, |size| DVec3::from_array(size.map(f64::from)));
        let place = DVec3::from_array(place.map(f64::from));
        let matrix = DMat4::from_scale_rotation_translation(size, turn.normalize(), place);
        let mut instance = placed(matrix);
        instance["children"] = json!([node]);
        nodes.push(reader.builder.add_node(instance));
        reader.instances += 1;
    }
    Ok(nodes)
}

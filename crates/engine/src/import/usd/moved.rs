//! The prims that change over time, with the nodes that show them. Copies of instances are further nodes of the same prim,
//! so they share its keyframes.

use std::collections::HashMap;

use glam::DVec3;
use openusd::usd::Prim;
use serde_json::json;

use super::super::scene_builder::SceneBuilder;
use super::blend_shapes::ShapeWeights;
use super::transform::Visibility;

/// A prim whose transform or visibility changes over time.
pub(super) struct Moving {
    pub(super) prim: Prim,
    pub(super) nodes: Vec<usize>,
    /// The place that the nodes are measured from; a node above them has it.
    pub(super) base: DVec3,
}

/// Nodes with a mesh whose shape changes over time.
pub(super) struct Morphing {
    pub(super) weights: ShapeWeights,
    pub(super) nodes: Vec<usize>,
}

/// What changes over time besides the joints of skeletons.
#[derive(Default)]
pub(super) struct MovedPrims {
    /// Prims whose transforms change.
    pub(super) moving: Vec<Moving>,
    pub(super) morphing: Vec<Morphing>,
    /// Prims whose visibility changes.
    pub(super) blinking: Vec<Moving>,
}

/// The lengths of the lists of [`MovedPrims`] at one moment.
pub(super) type Mark = [usize; 3];

/// A node of a prim that changes: the list, the place in it, the node.
pub(super) type MovedNode = (usize, usize, usize);

impl MovedPrims {
    pub(super) fn mark(&self) -> Mark {
        [self.moving.len(), self.morphing.len(), self.blinking.len()]
    }

    /// The nodes of the prims that came after a mark.
    pub(super) fn nodes_since(&self, mark: Mark) -> Vec<MovedNode> {
        let mut all = Vec::new();
        for (list, from) in mark.into_iter().enumerate() {
            for place in from..self.mark()[list] {
                let nodes = match list {
                    0 => &self.moving[place].nodes,
                    1 => &self.morphing[place].nodes,
                    _ => &self.blinking[place].nodes,
                };
                all.extend(nodes.iter().map(|node| (list, place, *node)));
            }
        }
        all
    }

    /// Adds the copies of these nodes, by the map from nodes to their copies.
    pub(super) fn add_copies(&mut self, nodes: &[MovedNode], copies: &HashMap<usize, usize>) {
        for (list, place, node) in nodes {
            let Some(copy) = copies.get(node) else {
                continue;
            };
            let nodes = match list {
                0 => &mut self.moving[*place].nodes,
                1 => &mut self.morphing[*place].nodes,
                _ => &mut self.blinking[*place].nodes,
            };
            nodes.push(*copy);
        }
    }
}

/// Makes a node above `children` whose scale is zero while the prim is invisible, because glTF cannot animate visibility.
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

//! The instances of a point instancer: which are drawn, and where.

use std::collections::HashSet;

use glam::{DMat4, DQuat, DVec3};
use openusd::sdf::Value;
use openusd::usd::Prim;

use super::values::{integers, of, vectors};

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

/// Where the instances are.
pub(super) struct InstancePlaces {
    pub(super) positions: Vec<[f32; 3]>,
    turns: Vec<[f32; 4]>,
    sizes: Vec<[f32; 3]>,
}

impl InstancePlaces {
    pub(super) fn of(prim: &Prim) -> InstancePlaces {
        let turns = of(prim, "orientationsf").or_else(|| of(prim, "orientations"));
        InstancePlaces {
            positions: of(prim, "positions").and_then(vectors).unwrap_or_default(),
            turns: turns.and_then(vectors).unwrap_or_default(),
            sizes: of(prim, "scales").and_then(vectors).unwrap_or_default(),
        }
    }

    pub(super) fn at(&self, at: usize) -> DMat4 {
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

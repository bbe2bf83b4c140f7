//! Positions of skinned vertices during animations.
//!
//! Two vertices that are close at rest may move apart in an animation. The positions in a few poses are therefore
//! attributes in the error of a collapse. Vertices that move as one rigid piece add no error, because their positions
//! are linear in those at rest.

use glam::Vec3;

use super::super::scene::{Geometry, Pose, Scene};

/// Number of moments of the animations.
const POSES: usize = 2;

/// The poses of a scene, and the positions of skinned vertices in them.
#[derive(Debug, Clone, Default)]
pub(super) struct Motion {
    /// Empty if no animation moves a skin.
    pub(super) poses: Vec<Pose>,
    /// For each pose and geometry the world positions of its first draw; empty where it has no skin.
    places: Vec<Vec<Vec<Vec3>>>,
}

impl Motion {
    /// The motion of a scene. The scene is changed temporarily and restored.
    pub(super) fn of(scene: &mut Scene) -> Motion {
        let poses = scene.poses(POSES);
        let places = poses.iter().map(|pose| scene.in_pose(pose, places));
        Motion {
            places: places.collect(),
            poses,
        }
    }

    /// The number of poses in which skinned vertices have other positions.
    pub(super) fn skinned_poses(&self) -> usize {
        let moves = |places: &&Vec<Vec<Vec3>>| places.iter().any(|places| !places.is_empty());
        self.places.iter().filter(moves).count()
    }

    /// The positions of a geometry's vertices in a pose; `None` if no skin moves them or if one is not finite.
    pub(super) fn places(&self, pose: usize, index: usize, geometry: &Geometry) -> Option<&[Vec3]> {
        let places = self.places.get(pose)?.get(index)?;
        let known =
            places.len() == geometry.vertex_count() && places.iter().all(|place| place.is_finite());
        known.then_some(places)
    }
}

fn places(scene: &Scene) -> Vec<Vec<Vec3>> {
    let mut places = vec![Vec::new(); scene.geometries.len()];
    for draw in scene.draws().iter().filter(|draw| draw.joints.is_some()) {
        for primitive in &scene.meshes[draw.mesh].primitives {
            let known = &mut places[primitive.geometry];
            if known.is_empty() {
                *known = draw.world_positions(&scene.geometries[primitive.geometry]);
            }
        }
    }
    places
}

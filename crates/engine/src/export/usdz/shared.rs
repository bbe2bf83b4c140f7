//! Meshes that are drawn more than once. Each is written once, and referenced where it is drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use glam::Mat4;

use super::super::super::scene::{Draw, MeshAtRest, Scene};
use super::identifiers::unique;

/// The name of the scope with the shared meshes.
pub(super) const SHARED_MESHES: &str = "Meshes";

pub(super) struct SharedMeshes {
    names: BTreeMap<MeshAtRest, String>,
    /// What is still to be written: the names, and a draw in the space of the mesh for each.
    meshes: Vec<(String, Draw)>,
}

impl SharedMeshes {
    /// The meshes that draws without skins share.
    pub(super) fn of<'d>(scene: &Scene, draws: impl Iterator<Item = &'d Draw>) -> SharedMeshes {
        let mut found: BTreeMap<MeshAtRest, (&Draw, usize)> = BTreeMap::new();
        for draw in draws {
            found.entry(draw.mesh_at_rest()).or_insert((draw, 0)).1 += 1;
        }
        let (mut names, mut meshes, mut taken) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        for (key, (draw, uses)) in found {
            let mesh = &scene.meshes[draw.mesh];
            let mut geometries = mesh
                .primitives
                .iter()
                .map(|it| &scene.geometries[it.geometry]);
            if uses < 2 || !geometries.any(|geometry| geometry.triangle_count() > 0) {
                continue;
            }
            let name = unique(mesh.name().unwrap_or("mesh"), &mut taken);
            let unplaced = Draw {
                placed: Mat4::IDENTITY,
                world: Mat4::IDENTITY,
                ..draw.clone()
            };
            meshes.push((name.clone(), unplaced));
            names.insert(key, name);
        }
        SharedMeshes { names, meshes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The meshes to be written, each with the name of its prim.
    pub(super) fn take_meshes(&mut self) -> Vec<(String, Draw)> {
        take(&mut self.meshes)
    }

    /// The path of the prim with the mesh of a draw; `None` if only this draw has it.
    pub(super) fn path_of(&self, draw: &Draw) -> Option<String> {
        let name = self.names.get(&draw.mesh_at_rest())?;
        Some(format!("/Root/{SHARED_MESHES}/{name}"))
    }
}

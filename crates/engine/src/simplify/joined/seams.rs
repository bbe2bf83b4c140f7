//! Vertices at the same position: moves parts that coincide apart, and protects seams across which something differs
//! that does not count in the error.

use glam::{Mat4, Vec3};
use meshopt::SimplifyVertex;

use super::super::super::alike::firsts_at_places;
use super::super::super::scene::{Attribute, Geometry, Scene, Texturing};
use super::super::is_seen;
use super::JoinedMesh;

/// Attributes that count in the error of every part that has them.
const MEASURED: [&str; 5] = ["POSITION", "NORMAL", "TANGENT", "TEXCOORD_0", "COLOR_0"];

impl JoinedMesh {
    pub(super) fn settle_seams(&mut self, scene: &Scene, texturings: &[Texturing]) {
        let mut firsts = firsts_at_places(&self.positions);
        if self.move_apart(&firsts) {
            firsts = firsts_at_places(&self.positions);
        }
        self.protect(&firsts, scene, texturings);
    }

    /// Moves parts that coincide with an earlier part by a tiny distance; returns whether there were any.
    fn move_apart(&mut self, firsts: &[u32]) -> bool {
        let mut moved = false;
        for place in 0..self.parts.len() {
            let range = self.parts[place].first_vertex..self.parts[place].end_vertex;
            let is_shared = |first: &&u32| (**first as usize) < range.start;
            let shared = firsts[range.clone()].iter().filter(is_shared).count();
            // Neighbours share few vertices (a border), copies share most.
            if shared * 4 <= range.len() {
                continue;
            }
            moved = true;
            let step = (place as f32 + 1.0) * 1.37e-6;
            let hair = Vec3::new(step, step * 0.618, step * 0.414);
            for position in &mut self.positions[range] {
                *position = (Vec3::from_array(*position) + hair).to_array();
            }
            let part = &mut self.parts[place];
            part.to_joined = Mat4::from_translation(hair) * part.to_joined;
            part.from_joined = part.to_joined.inverse();
        }
        moved
    }

    /// Protects seams between parts, and those across which something differs that does not count in the error: weights
    /// of joints, displacements of morph targets, further sets of texture coordinates.
    fn protect(&mut self, firsts: &[u32], scene: &Scene, texturings: &[Texturing]) {
        let unmeasured: Vec<Vec<&Attribute>> = self
            .parts
            .iter()
            .map(|part| {
                let texturing = &texturings[part.geometry];
                unmeasured(&scene.geometries[part.geometry], texturing)
            })
            .collect();
        let mut protected = vec![false; self.positions.len()];
        for (place, part) in self.parts.iter().enumerate() {
            let own = part.first_vertex..part.end_vertex;
            for (vertex, first) in own.clone().zip(&firsts[own]) {
                let first = *first as usize;
                if first == vertex {
                    continue;
                }
                let differs = |attribute: &&Attribute| {
                    let at = |vertex: usize| attribute.at(vertex - part.first_vertex);
                    at(vertex) != at(first)
                };
                if first < part.first_vertex || unmeasured[place].iter().any(differs) {
                    protected[first] = true;
                }
            }
        }
        for (protection, first) in self.protections.iter_mut().zip(firsts) {
            if protected[*first as usize] {
                *protection |= SimplifyVertex::Protect;
            }
        }
    }
}

fn unmeasured<'g>(geometry: &'g Geometry, texturing: &Texturing) -> Vec<&'g Attribute> {
    let own = geometry.attributes.iter().filter(|attribute| {
        is_seen(&attribute.name, texturing) && !MEASURED.contains(&attribute.name.as_str())
    });
    own.chain(geometry.targets.iter().flatten()).collect()
}

//! Indexed geometry with its vertex attributes as numbers.
//!
//! Attribute values are `f32` in their final units. [`Storage`] keeps how the file stored them, so that an exporter can
//! store them as compactly.

use super::super::document::ComponentType;
use super::bounds::Bounds;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    Points,
    /// Two vertices each.
    Lines,
    /// One closed line.
    LineLoop,
    /// One open line.
    LineStrip,
    /// Three vertices each. The importers convert strips and fans to this.
    #[default]
    Triangles,
}

impl Mode {
    /// The glTF number of the mode.
    pub fn code(self) -> u32 {
        match self {
            Mode::Points => 0,
            Mode::Lines => 1,
            Mode::LineLoop => 2,
            Mode::LineStrip => 3,
            Mode::Triangles => 4,
        }
    }
}

/// Sum of the squares of the triangles around each vertex, up to which a mesh is never crowded.
const UNCROWDED: u64 = 1 << 30;
/// Triangles around the vertex of a corner, on average over all corners.
const MEAN_CROWD: u64 = 256;

/// Whether a few vertices have so many triangles that work which goes through all of them for each of them takes too long.
pub fn is_crowded(indices: &[u32], vertex_count: usize) -> bool {
    let mut around = vec![0u64; vertex_count];
    for index in indices {
        around[*index as usize] += 1;
    }
    let squares = around.iter().map(|count| count.saturating_mul(*count));
    let sum = squares.fold(0, u64::saturating_add);
    sum > UNCROWDED.max(indices.len() as u64 * MEAN_CROWD)
}

/// How an attribute is stored in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Storage {
    pub component: ComponentType,
    /// Whether integers are normalized.
    pub normalized: bool,
}

impl Storage {
    /// Numbers from 0 to 1 in 16 bits.
    pub const FRACTIONS: Storage = Storage {
        component: ComponentType::U16,
        normalized: true,
    };

    /// Numbers from -1 to 1 in 16 bits.
    pub const SIGNED: Storage = Storage {
        component: ComponentType::I16,
        normalized: true,
    };

    /// Numbers from 0 to 1 in 8 bits.
    pub const BYTES: Storage = Storage {
        component: ComponentType::U8,
        normalized: true,
    };

    /// Numbers from -1 to 1 in 8 bits.
    pub const SIGNED_BYTES: Storage = Storage {
        component: ComponentType::I8,
        normalized: true,
    };

    /// Whole numbers of 16 bits.
    pub const WHOLE: Storage = Storage {
        component: ComponentType::I16,
        normalized: false,
    };

    /// Plain floats.
    pub const FLOAT: Storage = Storage {
        component: ComponentType::F32,
        normalized: false,
    };
}

/// One attribute of all vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// The glTF name: `POSITION`, `TEXCOORD_0`, `_CUSTOM`, …
    pub name: String,
    /// Numbers in an element.
    pub components: usize,
    /// How the file stores it.
    pub storage: Storage,
    /// `components` numbers for each vertex.
    pub values: Vec<f32>,
}

impl Attribute {
    pub fn new(name: &str, components: usize, values: Vec<f32>) -> Attribute {
        Attribute {
            name: name.to_owned(),
            components,
            storage: Storage::FLOAT,
            values,
        }
    }

    /// Elements.
    pub fn count(&self) -> usize {
        self.values.len() / self.components
    }

    /// The numbers of vertex `index`.
    pub fn at(&self, index: usize) -> &[f32] {
        &self.values[index * self.components..(index + 1) * self.components]
    }

    /// The attribute of the vertices `kept`, in that order.
    fn gather(&self, kept: &[u32]) -> Attribute {
        let mut values = Vec::with_capacity(kept.len() * self.components);
        for index in kept {
            values.extend_from_slice(self.at(*index as usize));
        }
        Attribute {
            values,
            ..self.clone_empty()
        }
    }

    fn clone_empty(&self) -> Attribute {
        Attribute {
            name: self.name.clone(),
            components: self.components,
            storage: self.storage,
            values: Vec::new(),
        }
    }
}

/// Vertices, and the indices that join them to points, lines or triangles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Geometry {
    pub mode: Mode,
    /// Indices of vertices, all in range; a multiple of three for triangles.
    pub indices: Vec<u32>,
    /// The attributes, the first of them `POSITION`.
    pub attributes: Vec<Attribute>,
    /// Morph targets: for each, displacements of some attributes.
    pub targets: Vec<Vec<Attribute>>,
    /// Whether the file stored the morph targets as sparse accessors.
    pub sparse_targets: bool,
}

impl Geometry {
    pub fn vertex_count(&self) -> usize {
        self.attributes.first().map_or(0, Attribute::count)
    }

    /// The number of triangles; 0 for points and lines.
    pub fn triangle_count(&self) -> usize {
        match self.mode {
            Mode::Triangles => self.indices.len() / 3,
            _ => 0,
        }
    }

    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|found| found.name == name)
    }

    pub fn attribute_mut(&mut self, name: &str) -> Option<&mut Attribute> {
        self.attributes.iter_mut().find(|found| found.name == name)
    }

    pub fn positions(&self) -> &[f32] {
        self.attribute("POSITION")
            .map_or(&[], |positions| &positions.values)
    }

    pub fn position(&self, vertex: u32) -> glam::Vec3 {
        let start = vertex as usize * 3;
        glam::Vec3::from_slice(&self.positions()[start..start + 3])
    }

    /// The smallest box around all positions, or `None` without vertices.
    pub fn bounds(&self) -> Option<Bounds> {
        let mut bounds = None;
        for position in self.positions().chunks_exact(3) {
            let position = glam::Vec3::from_slice(position);
            Bounds::grow(&mut bounds, position);
        }
        bounds
    }

    /// Keeps only the vertices that are used, in order of first use.
    pub fn compact(&mut self) {
        let mut places = vec![u32::MAX; self.vertex_count()];
        let mut kept = Vec::new();
        for index in &mut self.indices {
            let place = &mut places[*index as usize];
            if *place == u32::MAX {
                *place = kept.len() as u32;
                kept.push(*index);
            }
            *index = *place;
        }
        self.keep_vertices(&kept);
    }

    /// Replaces the vertices by those at `kept`, in that order; the caller must update the indices.
    pub fn keep_vertices(&mut self, kept: &[u32]) {
        let all = self
            .attributes
            .iter_mut()
            .chain(self.targets.iter_mut().flatten());
        for attribute in all {
            *attribute = attribute.gather(kept);
        }
    }

    /// Every attribute, those of the morph targets included.
    pub fn all_attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().chain(self.targets.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_of_very_many_triangles_is_a_crowd_and_a_dense_grid_is_none() {
        let star = |count: u32| {
            (0..count)
                .flat_map(|at| [0, at + 1, at + 2])
                .collect::<Vec<_>>()
        };
        assert!(is_crowded(&star(40_000), 40_002));
        assert!(!is_crowded(&star(10_000), 10_002));
        let strip: Vec<u32> = (0..500_000).flat_map(|at| [at, at + 1, at + 2]).collect();
        assert!(!is_crowded(&strip, 500_002));
    }
}

//! NURBS surfaces of an FBX file as triangles: a grid of points evaluated by `ufbx`.
//!
//! Each span of knots is divided as often as the file asks for, within limits: a few bytes of a file can ask for billions
//! of points.

use glam::{DVec3, Vec3};

use super::super::super::scene::{Attribute, Geometry};
use super::super::far::{self, Offsets};
use super::super::scene_builder::SceneBuilder;
use super::material::FbxMaterials;
use super::mesh::ImportedMesh;
use assetfs_formats::warnings::WarningKind;

/// Maximum number of pieces of a span in one direction.
const MAX_PIECES: usize = 16;
/// Maximum number of grid cells in all surfaces of a file.
const MAX_CELLS: usize = 1 << 20;
/// Maximum order of a surface: the time to evaluate a point grows with its square. Programs write 2 to 8.
const MAX_ORDER: u32 = 16;

/// Adds surfaces to a scene until the file's share of cells is used up.
pub(super) struct Surfaces {
    cells_left: usize,
}

impl Surfaces {
    pub(super) fn new() -> Surfaces {
        Surfaces {
            cells_left: MAX_CELLS,
        }
    }

    pub(super) fn add(
        &mut self,
        found: &ufbx::NurbsSurface,
        builder: &mut SceneBuilder,
        materials: &mut FbxMaterials<'_>,
        offsets: &mut Offsets,
    ) -> ImportedMesh {
        let name: &str = &found.element.name;
        let Some(pieces) = self.pieces_of(found) else {
            builder.warn(
                WarningKind::Damaged,
                format!("the NURBS surface \"{name}\" is left out: it is damaged or too complex"),
            );
            return ImportedMesh::default();
        };
        let material = found
            .material
            .as_ref()
            .map(|material| materials.add(material, &[""], builder));
        let (surface, offset) = tessellated(found, pieces, offsets);
        let parts = vec![(surface, material)];
        let mesh = builder.add_mesh(Some(name).filter(|name| !name.is_empty()), parts);
        ImportedMesh::of_mesh(mesh, offset)
    }

    /// The pieces of each span along u and v; `None` for a surface that is not drawn.
    fn pieces_of(&mut self, found: &ufbx::NurbsSurface) -> Option<[usize; 2]> {
        let (u, v) = (&found.basis_u, &found.basis_v);
        let is_sound = |basis: &ufbx::NurbsBasis| {
            basis.valid && basis.order <= MAX_ORDER && basis.spans.len() >= 2
        };
        if !is_sound(u) || !is_sound(v) || found.control_points.is_empty() {
            return None;
        }
        let asked = |pieces: u32| (pieces as usize).clamp(1, MAX_PIECES);
        let mut pieces = [
            asked(found.span_subdivision_u),
            asked(found.span_subdivision_v),
        ];
        let spans = (u.spans.len() - 1).checked_mul(v.spans.len() - 1)?;
        while spans.checked_mul(pieces[0] * pieces[1])? > self.cells_left {
            if pieces == [1, 1] {
                return None;
            }
            pieces = pieces.map(|pieces| pieces.div_ceil(2));
        }
        self.cells_left -= spans * pieces[0] * pieces[1];
        Some(pieces)
    }
}

/// The triangles of a surface, and the offset of their positions.
fn tessellated(
    found: &ufbx::NurbsSurface,
    pieces: [usize; 2],
    offsets: &mut Offsets,
) -> (Geometry, DVec3) {
    let columns = parameters(&found.basis_u, pieces[0]);
    let rows = parameters(&found.basis_v, pieces[1]);
    let middle = [&found.basis_u, &found.basis_v].map(|basis| (basis.t_min + basis.t_max) / 2.0);
    let (mut positions, mut normals, mut coords) = (Vec::new(), Vec::new(), Vec::new());
    for (row, v) in rows.iter().enumerate() {
        for (column, u) in columns.iter().enumerate() {
            let at = found.evaluate(*u, *v).position;
            positions.push(DVec3::new(at.x, at.y, at.z));
            normals.extend(normal_at(found, *u, *v, middle).to_array());
            coords.extend([
                column as f32 / (columns.len() - 1) as f32,
                1.0 - row as f32 / (rows.len() - 1) as f32,
            ]);
        }
    }
    let width = columns.len() as u32;
    let mut indices = Vec::new();
    for row in 0..rows.len() as u32 - 1 {
        for column in 0..width - 1 {
            let a = row * width + column;
            let [b, c, d] = [a + 1, a + width + 1, a + width];
            match found.flip_normals {
                false => indices.extend([a, b, c, a, c, d]),
                true => indices.extend([a, c, b, a, d, c]),
            }
        }
    }
    let offset = offsets.offset_of(positions.iter().copied());
    let positions = positions.into_iter().flat_map(|at| far::near(at, offset));
    let geometry = Geometry {
        indices,
        attributes: vec![
            Attribute::new("POSITION", 3, positions.collect()),
            Attribute::new("NORMAL", 3, normals),
            Attribute::new("TEXCOORD_0", 2, coords),
        ],
        ..Geometry::default()
    };
    (geometry, offset)
}

/// The normal at a point. At a pole, where an edge is a single point, the normal slightly towards the middle is taken.
fn normal_at(found: &ufbx::NurbsSurface, u: f64, v: f64, middle: [f64; 2]) -> Vec3 {
    let at = |inwards: f64| {
        let u = u + (middle[0] - u) * inwards;
        let v = v + (middle[1] - v) * inwards;
        let point = found.evaluate(u, v);
        let [along_u, along_v] = [&point.derivative_u, &point.derivative_v]
            .map(|along| Vec3::new(along.x as f32, along.y as f32, along.z as f32));
        along_u
            .normalize_or_zero()
            .cross(along_v.normalize_or_zero())
    };
    let normal = [0.0, 1e-3]
        .iter()
        .find_map(|inwards| at(*inwards).try_normalize());
    normal.unwrap_or(Vec3::Y) * if found.flip_normals { -1.0 } else { 1.0 }
}

/// The parameters of the grid's lines. The last line of a closed surface is bit-identical to its first.
fn parameters(basis: &ufbx::NurbsBasis, pieces: usize) -> Vec<f64> {
    let spans: &[f64] = &basis.spans;
    let mut found: Vec<f64> = spans
        .windows(2)
        .flat_map(|span| {
            let length = span[1] - span[0];
            (0..pieces).map(move |piece| span[0] + length * piece as f64 / pieces as f64)
        })
        .collect();
    found.push(match basis.topology {
        ufbx::NurbsTopology::Open => spans[spans.len() - 1],
        _ => spans[0],
    });
    found
}

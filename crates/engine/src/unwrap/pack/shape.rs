//! Charts as the packer sees them, and where they stand.

use glam::DVec2;

/// A chart as the packer sees it: triangles in the plane.
pub(in super::super) struct FlatShape {
    /// In the units of the mesh; the packer moves, turns and scales them.
    pub(in super::super) uvs: Vec<DVec2>,
    pub(in super::super) triangles: Vec<[u32; 3]>,
    pub(in super::super) area: f64,
}

/// Where a chart stands: its quarter turns, and where the corner of its box is, as fractions of the square.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) quarter_turns: usize,
    pub(super) corner: DVec2,
}

pub(super) struct Arrangement {
    pub(super) scale: f64,
    pub(super) places: Vec<Place>,
}

/// The size of a shape whose box starts at the origin.
pub(super) fn size_of(uvs: &[DVec2]) -> DVec2 {
    uvs.iter().fold(DVec2::ZERO, |high, uv| high.max(*uv))
}

/// The point after quarter turns of a box of this size, whose corner returns to the origin.
pub(super) fn quarter_turned(uv: DVec2, size: DVec2, quarter_turns: usize) -> DVec2 {
    match quarter_turns {
        0 => uv,
        1 => DVec2::new(size.y - uv.y, uv.x),
        2 => size - uv,
        _ => DVec2::new(uv.y, size.x - uv.x),
    }
}

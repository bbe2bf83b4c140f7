//! How far a scene is simplified.

/// What the result may have, and what is kept.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of drawn triangles.
    pub triangles: u64,
    /// Whether every seam, border and piece is kept, even if the budget is then exceeded.
    pub keep_topology: bool,
    /// How much triangles of like sizes are preferred: 0 not at all, 1 most.
    pub evenness: f32,
    /// The part of the vertices that shape open borders which is kept in place, from 0 to 1.
    pub border_lock: f32,
}

impl Limits {
    /// At most this many drawn triangles, and nothing kept beside the shape.
    pub fn of_triangles(triangles: u64) -> Limits {
        Limits {
            triangles,
            keep_topology: false,
            evenness: 0.0,
            border_lock: 0.0,
        }
    }
}

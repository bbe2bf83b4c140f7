//! Meshes to unwrap.

use std::f32::consts::TAU;

/// Positions and indices.
pub(super) type Triangles = (Vec<[f32; 3]>, Vec<u32>);

/// A grid of `columns` × `rows` cells; `place` maps fractions of both to a position.
fn grid(columns: u32, rows: u32, place: impl Fn(f32, f32) -> [f32; 3]) -> Triangles {
    let mut positions = Vec::new();
    let mut indices = Vec::new();
    for row in 0..=rows {
        for column in 0..=columns {
            positions.push(place(
                column as f32 / columns as f32,
                row as f32 / rows as f32,
            ));
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let at = row * (columns + 1) + column;
            let above = at + columns + 1;
            indices.extend([at, at + 1, above + 1, at, above + 1, above]);
        }
    }
    (positions, indices)
}

/// Makes the positions at the end of a turn equal to those at its start.
fn angle(part: f32) -> f32 {
    if part == 1.0 { 0.0 } else { part * TAU }
}

pub(super) fn sheet(cells: u32) -> Triangles {
    grid(cells, cells, |x, y| [x, y, 0.0])
}

pub(super) fn tube(around: u32, along: u32) -> Triangles {
    grid(around, along, |u, v| {
        [angle(u).cos(), angle(u).sin(), 2.0 * v]
    })
}

pub(super) fn sphere(rows: u32, around: u32) -> Triangles {
    grid(around, rows, |u, v| match v {
        0.0 => [0.0, 0.0, -1.0],
        1.0 => [0.0, 0.0, 1.0],
        _ => {
            let (height, radius) = ((v - 0.5) * TAU / 2.0).sin_cos();
            [radius * angle(u).cos(), radius * angle(u).sin(), height]
        }
    })
}

pub(super) fn torus(around: u32, through: u32) -> Triangles {
    grid(around, through, |u, v| {
        let radius = 2.0 + angle(v).cos() * 0.7;
        [
            radius * angle(u).cos(),
            radius * angle(u).sin(),
            angle(v).sin() * 0.7,
        ]
    })
}

pub(super) fn moebius(around: u32) -> Triangles {
    grid(around, 2, |u, v| {
        // After one turn, the strip arrives upside down.
        let (u, v) = if u == 1.0 { (0.0, 1.0 - v) } else { (u, v) };
        let across = (v - 0.5) * 0.8;
        let (turn, half) = (u * TAU, u * TAU / 2.0);
        let radius = 1.0 + across * half.cos();
        [
            radius * turn.cos(),
            radius * turn.sin(),
            across * half.sin(),
        ]
    })
}

pub(super) fn cube() -> Triangles {
    let positions = (0..8).map(|at| [(at & 1) as f32, (at >> 1 & 1) as f32, (at >> 2) as f32]);
    let sides = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let indices = sides
        .iter()
        .flat_map(|[a, b, c, d]| [*a, *b, *c, *a, *c, *d]);
    (positions.collect(), indices.collect())
}

/// Triangles around one edge.
pub(super) fn fan(blades: u32) -> Triangles {
    let mut positions = vec![[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    let mut indices = Vec::new();
    for blade in 0..blades {
        let angle = blade as f32 / blades as f32 * TAU;
        positions.push([angle.cos(), angle.sin(), 0.5]);
        indices.extend(match blade % 2 {
            0 => [0, 1, blade + 2],
            _ => [1, 0, blade + 2],
        });
    }
    (positions, indices)
}

/// Triangles of different sizes that touch nothing.
pub(super) fn loose(count: u32) -> Triangles {
    let mut positions = Vec::new();
    for triangle in 0..count {
        let [x, y] = [(triangle % 32) as f32, (triangle / 32) as f32].map(|at| at * 2.0);
        let size = 0.3 + (triangle * 7 % 11) as f32 * 0.1;
        positions.extend([[x, y, 0.0], [x + size, y, 0.2], [x, y + size * 0.8, 0.0]]);
    }
    (positions, (0..count * 3).collect())
}

//! Models that tests make (a furnished room, a tree, lettering, a gallery of beams, an arch).

use std::fmt::Write as _;
use std::fs;

use assetfs_engine::import::import;
use assetfs_engine::scene::{Attribute, Scene};
use glam::{Quat, Vec3};
use serde_json::json;

/// The sides of a box from outside. The bits of a corner's number say on which sides it is.
pub const BOX_SIDES: [[usize; 4]; 6] = [
    [0, 2, 3, 1],
    [4, 5, 7, 6],
    [0, 1, 5, 4],
    [2, 6, 7, 3],
    [0, 4, 6, 2],
    [1, 3, 7, 5],
];

/// The text of an OBJ file.
#[derive(Default)]
pub struct Obj {
    text: String,
    vertices: usize,
}

impl Obj {
    pub fn part(&mut self, name: &str) {
        writeln!(self.text, "o {name}\nusemtl {name}").unwrap();
    }

    pub fn shape(&mut self, corners: &[[f32; 3]], triangles: &[[usize; 3]]) {
        for [x, y, z] in corners {
            writeln!(self.text, "v {x} {y} {z}").unwrap();
        }
        for triangle in triangles {
            let [a, b, c] = triangle.map(|corner| corner + 1 + self.vertices);
            writeln!(self.text, "f {a} {b} {c}").unwrap();
        }
        self.vertices += corners.len();
    }

    /// A square of two triangles.
    pub fn leaf(&mut self, [x, y, z]: [f32; 3], size: f32) {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let corners = corners.map(|[u, v]| [x + u * size, y + (u + v) * size * 0.3, z + v * size]);
        self.shape(&corners, &[[0, 2, 1], [0, 3, 2]]);
    }

    /// A pyramid without its base.
    pub fn tuft(&mut self, [x, y, z]: [f32; 3], size: f32) {
        let base = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let mut corners = base.map(|[u, v]| [x + u * size, y, z + v * size]).to_vec();
        corners.push([x + size * 0.5, y + size, z + size * 0.5]);
        self.shape(&corners, &[[1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4]]);
    }

    pub fn cuboid(&mut self, low: [f32; 3], high: [f32; 3]) {
        let corner = |number: usize| [0, 1, 2].map(|axis| [low, high][number >> axis & 1][axis]);
        self.block(&(0..8).map(corner).collect::<Vec<_>>());
    }

    /// A body with the sides of a box. The bits of a corner's number say on which sides it is.
    pub fn block(&mut self, corners: &[[f32; 3]]) {
        let triangles = BOX_SIDES
            .iter()
            .flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]);
        self.shape(corners, &triangles.collect::<Vec<_>>());
    }

    /// A box whose sides have `steps` by `steps` squares.
    pub fn fine_cuboid(&mut self, low: [f32; 3], high: [f32; 3], steps: usize) {
        let (low, size) = (
            Vec3::from_array(low),
            Vec3::from_array(high) - Vec3::from_array(low),
        );
        let row = steps + 1;
        for (axis, side) in (0..6).map(|number| (number / 2, (number % 2) as f32)) {
            let corners: Vec<[f32; 3]> = (0..row * row)
                .map(|at| {
                    let mut part = [0.0; 3];
                    part[axis] = side;
                    part[(axis + 1) % 3] = (at % row) as f32 / steps as f32;
                    part[(axis + 2) % 3] = (at / row) as f32 / steps as f32;
                    (low + Vec3::from_array(part) * size).to_array()
                })
                .collect();
            let squares = (0..steps * steps).map(|at| at / steps * row + at % steps);
            let triangles = squares.flat_map(|a| match side > 0.5 {
                true => [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]],
                false => [[a, a + row + 1, a + 1], [a, a + row, a + row + 1]],
            });
            self.shape(&corners, &triangles.collect::<Vec<_>>());
        }
    }

    /// A closed tube of twelve sides along a line, which gets thinner to its end; between two points it has `steps` rings.
    pub fn tube(&mut self, line: &[Vec3], radius: f32, steps: usize) {
        const SIDES: usize = 12;
        let rings = (line.len() - 1) * steps;
        let mut corners = Vec::new();
        for ring in 0..=rings {
            let (at, part) = (ring / steps, (ring % steps) as f32 / steps as f32);
            let middle = line[at].lerp(line[(at + 1).min(line.len() - 1)], part);
            let along = (line[line.len() - 1] - line[0]).normalize();
            let (one, other) = along.any_orthonormal_pair();
            let wide = radius * (1.0 - 0.5 * ring as f32 / rings as f32);
            corners.extend((0..SIDES).map(|side| {
                let angle = side as f32 / SIDES as f32 * std::f32::consts::TAU;
                (middle + (one * angle.cos() + other * angle.sin()) * wide).to_array()
            }));
        }
        let mut triangles = Vec::new();
        for ring in 0..rings {
            for side in 0..SIDES {
                let [a, b] = [side, (side + 1) % SIDES].map(|at| ring * SIDES + at);
                triangles.extend([[a, b, b + SIDES], [a, b + SIDES, a + SIDES]]);
            }
        }
        let last = rings * SIDES;
        for side in 1..SIDES - 1 {
            triangles.extend([[0, side + 1, side], [last, last + side, last + side + 1]]);
        }
        self.shape(&corners, &triangles);
    }

    pub fn ball(&mut self, middle: [f32; 3], radius: f32, rings: usize) {
        let steps = rings * 2;
        let mut corners = Vec::new();
        for ring in 0..=rings {
            let polar = ring as f32 / rings as f32 * std::f32::consts::PI;
            for step in 0..steps {
                let around = step as f32 / steps as f32 * std::f32::consts::TAU;
                let unit = [
                    polar.sin() * around.cos(),
                    polar.cos(),
                    polar.sin() * around.sin(),
                ];
                corners.push([0, 1, 2].map(|axis| middle[axis] + unit[axis] * radius));
            }
        }
        let mut triangles = Vec::new();
        for ring in 0..rings {
            for step in 0..steps {
                let [a, b] = [step, (step + 1) % steps].map(|at| ring * steps + at);
                triangles.extend([[a, b, b + steps], [a, b + steps, a + steps]]);
            }
        }
        self.shape(&corners, &triangles);
    }

    /// Thick walls around a room of 6 by 4 by 6.
    fn walls(&mut self) {
        self.part("outside");
        self.cuboid([-0.3; 3], [6.3, 4.3, 6.3]);
        self.part("inside");
        // The opposite corner for each: turned inside out.
        let corner = |number: usize| {
            [0, 1, 2].map(|axis| match number >> axis & 1 {
                0 => [6.1, 4.1, 6.1][axis],
                _ => -0.1,
            })
        };
        self.block(&(0..8).map(corner).collect::<Vec<_>>());
    }

    pub fn scene(&self) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("model.obj"), &self.text).unwrap();
        import(dir.path(), &["model.obj".to_owned()]).unwrap().scene
    }
}

/// A floor with a carpet of many equal tufts, shelves of equal books, and a ball.
pub fn furnished() -> Scene {
    let mut obj = Obj::default();
    furnish(&mut obj);
    obj.scene()
}

/// The same between walls.
pub fn furnished_room() -> Scene {
    let mut obj = Obj::default();
    obj.walls();
    furnish(&mut obj);
    obj.scene()
}

fn furnish(obj: &mut Obj) {
    obj.part("floor");
    obj.cuboid([0.0, -0.2, 0.0], [6.0, 0.0, 6.0]);
    obj.part("carpet");
    for number in 0..900 {
        let [x, z] = [number / 30, number % 30].map(|at| 0.5 + at as f32 * 0.15);
        obj.tuft([x, 0.0, z], 0.12);
    }
    obj.part("shelf");
    obj.cuboid([0.0, 0.0, 5.6], [6.0, 3.0, 6.0]);
    obj.part("books");
    for number in 0..60 {
        let [row, place] = [number / 20, number % 20].map(|at| at as f32);
        let low = [0.2 + place * 0.28, 0.3 + row * 0.9, 5.3];
        obj.cuboid(low, [low[0] + 0.2, low[1] + 0.6, 5.6]);
    }
    obj.part("ball");
    obj.ball([4.5, 1.0, 2.0], 1.0, 24);
}

/// A tree with a thin trunk, bent branches and a crown of leaves.
pub fn tree() -> Scene {
    let mut obj = Obj::default();
    obj.part("bark");
    obj.tube(
        &[
            Vec3::ZERO,
            Vec3::new(0.05, 1.5, 0.0),
            Vec3::new(0.0, 3.0, 0.05),
        ],
        0.09,
        24,
    );
    let mut number = numbers();
    for branch in 0..9 {
        let turn = Quat::from_rotation_y(branch as f32 * 2.4);
        let from = Vec3::new(0.0, 1.8 + branch as f32 * 0.13, 0.0);
        let out = turn * Vec3::new(0.9, 0.5, 0.0);
        obj.tube(
            &[from, from + out * 0.5 + Vec3::Y * 0.1, from + out],
            0.03,
            8,
        );
    }
    obj.part("leaves");
    let mut count = 0;
    while count < 2500 {
        let place = Vec3::from_array([number(), number(), number()]);
        if place.length() < 1.0 {
            let [x, y, z] = (place * 1.3 + Vec3::Y * 3.0).to_array();
            obj.leaf([x, y, z], 0.09);
            count += 1;
        }
    }
    with_sides(obj.scene(), true)
}

/// Two lines of solid letters. Each stroke of a letter is a box whose sides have many triangles.
pub fn lettering() -> Scene {
    let strokes = |letter: char| -> &'static [[f32; 4]] {
        match letter {
            'E' => &[
                [0., 0., 1., 7.],
                [1., 0., 4., 1.],
                [1., 3., 3., 4.],
                [1., 6., 4., 7.],
            ],
            'F' => &[[0., 0., 1., 7.], [1., 3., 3., 4.], [1., 6., 4., 7.]],
            'H' => &[[0., 0., 1., 7.], [1., 3., 3., 4.], [3., 0., 4., 7.]],
            'I' => &[[1.5, 0., 2.5, 7.]],
            'L' => &[[0., 0., 1., 7.], [1., 0., 4., 1.]],
            'O' => &[
                [0., 0., 1., 7.],
                [3., 0., 4., 7.],
                [1., 0., 3., 1.],
                [1., 6., 3., 7.],
            ],
            'T' => &[[1.5, 0., 2.5, 6.], [0., 6., 4., 7.]],
            _ => &[[0., 0., 1., 7.], [3., 0., 4., 7.], [1., 6., 3., 7.]],
        }
    };
    let mut obj = Obj::default();
    for (line, text) in ["HOTEL", "FINITE"].into_iter().enumerate() {
        for (place, letter) in text.chars().enumerate() {
            obj.part(&format!("{letter}{line}{place}"));
            let corner = [place as f32 * 5.5, 10.0 - line as f32 * 10.0, 0.0];
            for [left, low, right, high] in strokes(letter) {
                obj.fine_cuboid(
                    [corner[0] + left, corner[1] + low, 0.0],
                    [corner[0] + right, corner[1] + high, 1.0],
                    6,
                );
            }
        }
    }
    obj.scene()
}

/// Rows of thin beams that stand and lie on each other, in finely divided boxes.
pub fn gallery() -> Scene {
    let mut obj = Obj::default();
    obj.part("floor");
    obj.fine_cuboid([0.0, -0.1, 0.0], [8.0, 0.0, 3.0], 6);
    obj.part("beams");
    for number in 0..17 {
        let x = number as f32 * 0.49;
        for z in [0.0, 2.9] {
            obj.fine_cuboid([x, 0.0, z], [x + 0.08, 2.4, z + 0.08], 2);
        }
        obj.fine_cuboid([x, 2.4, -0.1], [x + 0.08, 2.5, 3.1], 2);
    }
    for (y, z) in [
        (0.6, 0.02),
        (1.2, 0.02),
        (2.3, 0.02),
        (0.6, 2.92),
        (1.2, 2.92),
    ] {
        obj.fine_cuboid([0.0, y, z], [8.0, y + 0.05, z + 0.04], 2);
    }
    obj.scene()
}

/// A round arch of stones on two piers.
pub fn arch() -> Scene {
    let mut obj = Obj::default();
    obj.part("piers");
    obj.cuboid([-3.0, 0.0, 0.0], [-2.0, 2.0, 2.0]);
    obj.cuboid([2.0, 0.0, 0.0], [3.0, 2.0, 2.0]);
    obj.part("stones");
    for stone in 0..11 {
        let place = |number: usize| {
            let turn = (stone + (number & 1)) as f32 / 11.0 * std::f32::consts::PI;
            let radius = [2.0, 3.0][number >> 1 & 1];
            let depth = [0.0, 2.0][number >> 2];
            [-turn.cos() * radius, 2.0 + turn.sin() * radius, depth]
        };
        obj.block(&(0..8).map(place).collect::<Vec<_>>());
    }
    obj.scene()
}

/// A room with thick walls and furniture.
pub fn room() -> Scene {
    let mut obj = Obj::default();
    obj.walls();
    obj.part("table");
    obj.cuboid([2.0, 0.6, 2.0], [4.0, 0.9, 3.5]);
    obj.part("shelf");
    obj.cuboid([0.3, 0.3, 0.4], [0.8, 3.0, 5.0]);
    obj.scene()
}

/// The scene in one material, of which both sides are drawn or one.
pub fn with_sides(mut scene: Scene, are_both_drawn: bool) -> Scene {
    let material = json!([{ "doubleSided": are_both_drawn }]);
    scene.json.insert("materials".to_owned(), material);
    let meshes = scene.meshes.iter_mut();
    meshes
        .flat_map(|mesh| &mut mesh.primitives)
        .for_each(|primitive| primitive.material = Some(0));
    scene
}

/// Numbers from -1 to 1 without an order, the same each time.
pub fn numbers() -> impl FnMut() -> f32 {
    let mut state = 7u32;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// The scene with a flat square of 40 by 40 vertices instead of its first geometry: enough to be worth packing.
pub fn with_grid(mut scene: Scene) -> Scene {
    const SIDE: u32 = 40;
    let share = |at: u32| at as f32 / (SIDE - 1) as f32;
    let places = (0..SIDE * SIDE).flat_map(|at| [share(at % SIDE), share(at / SIDE), 0.0]);
    let cells = (0..SIDE * SIDE).filter(|at| at % SIDE < SIDE - 1 && at / SIDE < SIDE - 1);
    let corners = |at: u32| [at, at + 1, at + SIDE, at + SIDE, at + 1, at + SIDE + 1];
    let geometry = &mut scene.geometries[0];
    geometry.indices = cells.flat_map(corners).collect();
    geometry.attributes = vec![Attribute::new("POSITION", 3, places.collect())];
    scene
}

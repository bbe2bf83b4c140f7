//! Models of many loose pieces: a limit is used as far as it goes, more triangles never look worse, and equal pieces are
//! thinned everywhere and not in the order of the file.

use std::fmt::Write as _;
use std::fs;

use assetfs_engine::compare::quick_difference;
use assetfs_engine::import::import;
use assetfs_engine::render::{PreparedScene, RenderScene, RenderSettings};
use assetfs_engine::scene::Scene;
use assetfs_engine::simplify::{Limits, simplify};

/// The text of an OBJ file.
#[derive(Default)]
struct Obj {
    text: String,
    vertices: usize,
}

impl Obj {
    fn part(&mut self, name: &str) {
        writeln!(self.text, "o {name}\nusemtl {name}").unwrap();
    }

    fn shape(&mut self, corners: &[[f32; 3]], triangles: &[[usize; 3]]) {
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
    fn leaf(&mut self, [x, y, z]: [f32; 3], size: f32) {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let corners = corners.map(|[u, v]| [x + u * size, y + (u + v) * size * 0.3, z + v * size]);
        self.shape(&corners, &[[0, 2, 1], [0, 3, 2]]);
    }

    /// A pyramid without its base.
    fn tuft(&mut self, [x, y, z]: [f32; 3], size: f32) {
        let base = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let mut corners = base.map(|[u, v]| [x + u * size, y, z + v * size]).to_vec();
        corners.push([x + size * 0.5, y + size, z + size * 0.5]);
        self.shape(&corners, &[[1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4]]);
    }

    fn cuboid(&mut self, low: [f32; 3], high: [f32; 3]) {
        let corner = |number: usize| [0, 1, 2].map(|axis| [low, high][number >> axis & 1][axis]);
        let corners: Vec<[f32; 3]> = (0..8).map(corner).collect();
        let sides = [
            [0, 2, 3, 1],
            [4, 5, 7, 6],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 4, 6, 2],
            [1, 3, 7, 5],
        ];
        let triangles = sides
            .iter()
            .flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]);
        self.shape(&corners, &triangles.collect::<Vec<_>>());
    }

    fn ball(&mut self, middle: [f32; 3], radius: f32, rings: usize) {
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

    fn scene(&self) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("model.obj"), &self.text).unwrap();
        import(dir.path(), &["model.obj".to_owned()]).unwrap().scene
    }
}

/// A floor with a carpet of many equal tufts, shelves of equal books, and a ball.
fn furnished() -> Scene {
    let mut obj = Obj::default();
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
    obj.scene()
}

fn simplified(scene: &Scene, triangles: u64) -> Scene {
    let mut result = scene.clone();
    simplify(&mut result, &Limits::of_triangles(triangles));
    result
}

#[test]
fn a_limit_is_used_and_more_triangles_never_look_worse() {
    let source = furnished();
    let adapted = RenderScene::from_model(&source).scene;
    let bounds = adapted.bounding_box().unwrap();
    let prepared = PreparedScene::new(&adapted);
    let settings = RenderSettings {
        size: 96,
        samples: 1,
        background: Some([236, 237, 239]),
        sky_lights: 0,
    };
    let before = prepared.render_six(&bounds, &settings);
    let mut best = f64::INFINITY;
    for limit in [60, 250, 330, 1000, 2100, 3200] {
        let result = simplified(&source, limit);
        let triangles = result.drawn_triangles();
        assert!(
            (limit * 4 / 5..=limit).contains(&triangles),
            "{triangles} of {limit}"
        );
        let shown = prepared.reshaped(&RenderScene::shape_of(&result));
        let found = quick_difference(&before, &shown.render_six(&bounds, &settings)).mean;
        assert!(
            found < best * 1.1 + 0.002,
            "{limit}: {found}, with fewer {best}"
        );
        best = best.min(found);
    }
    assert!(best < 0.05, "{best}");
}

/// The leaves stand in the file from one side of the crown to the other.
#[test]
fn equal_leaves_are_thinned_evenly() {
    let mut obj = Obj::default();
    obj.part("trunk");
    obj.cuboid([1.4, 0.0, 1.4], [1.6, 3.0, 1.6]);
    obj.part("crown");
    for number in 0..1000 {
        let [x, y, z] = [number / 100, number / 10 % 10, number % 10].map(|at| at as f32 * 0.3);
        obj.leaf([x, 3.0 + y, z], 0.2);
    }
    let source = obj.scene();
    for limit in [1400, 1000, 500] {
        let result = simplified(&source, limit);
        let crown = &result.geometries[1];
        let mut in_thirds = [0usize; 3];
        for corners in crown.indices.chunks_exact(3) {
            in_thirds[((crown.position(corners[0]).x / 1.01) as usize).min(2)] += 1;
        }
        let [least, most] = [in_thirds.iter().min(), in_thirds.iter().max()].map(Option::unwrap);
        // Of ten rows, three or four are in a third.
        assert!(*least * 5 > *most * 3, "{limit}: {in_thirds:?}");
    }
}

//! What can be seen from outside through a deep hole or a narrow gap stays when invisible geometry is removed.

use std::fmt::Write as _;
use std::fs;

use glam::Vec3;
use serde_json::json;

use crate::simplify::{cuboid, optimize};

/// Writes squares, each given by its corners counter-clockwise.
fn squares(text: &mut String, name: &str, squares: &[[Vec3; 4]], count: &mut usize) {
    writeln!(text, "o {name}").unwrap();
    for square in squares {
        for corner in square {
            writeln!(text, "v {} {} {}", corner.x, corner.y, corner.z).unwrap();
        }
        let [a, b, c, d] = [1, 2, 3, 4].map(|corner| corner + *count);
        writeln!(text, "f {a} {b} {c}\nf {a} {c} {d}").unwrap();
        *count += 4;
    }
}

/// A block of 3 by 3 by 3 with a hole in its top, .24 wide and 2.5 deep, that leans; its floor, and a box in the block.
fn drilled() -> (String, f32) {
    let axis = Vec3::new(0.28, 1.0, 0.17).normalize();
    let along = |depth: f32| -axis * depth;
    let rim = [[-0.12, -0.12], [0.12, -0.12], [0.12, 0.12], [-0.12, 0.12]]
        .map(|[x, z]| Vec3::new(1.9 + x, 3.0, 1.7 + z));
    let corners =
        [[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [0.0, 3.0]].map(|[x, z]| Vec3::new(x, 3.0, z));
    let (mut text, mut count) = (String::new(), 0);
    let mut sides = Vec::new();
    for at in 0..4 {
        let next = (at + 1) % 4;
        // The top around the hole, and a side of the block.
        sides.push([corners[at], rim[at], rim[next], corners[next]]);
        let down = Vec3::Y * 3.0;
        sides.push([
            corners[at],
            corners[next],
            corners[next] - down,
            corners[at] - down,
        ]);
    }
    sides.push([0, 1, 2, 3].map(|at: usize| corners[at] - Vec3::Y * 3.0));
    squares(&mut text, "block", &sides, &mut count);
    let mut walls = Vec::new();
    for step in 0..20 {
        let [above, below] = [step, step + 1].map(|step| along(step as f32 * 0.125));
        for at in 0..4 {
            let next = (at + 1) % 4;
            walls.push([
                rim[at] + above,
                rim[at] + below,
                rim[next] + below,
                rim[next] + above,
            ]);
        }
    }
    squares(&mut text, "walls", &walls, &mut count);
    let floor = [3, 2, 1, 0].map(|at: usize| rim[at] + along(2.49));
    squares(&mut text, "floor", &[floor], &mut count);
    text += &cuboid("hidden", [0.3; 3], [0.8; 3], count);
    (text, floor[0].y)
}

#[test]
fn the_floor_of_a_deep_hole_stays_and_what_the_block_hides_goes() {
    let dir = tempfile::tempdir().unwrap();
    let (text, floor) = drilled();
    fs::write(dir.path().join("block.obj"), text).unwrap();
    let asked = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let report = optimize(dir.path(), &["block.obj"], asked, "out");
    let exports = dir.path().join("out/exports");
    let scene = assetfs_engine::import::import(&exports, &["model.glb".to_owned()])
        .unwrap()
        .scene;
    let on_floor = |geometry: &assetfs_engine::scene::Geometry| {
        let corners = geometry.positions().as_chunks::<3>().0;
        corners
            .iter()
            .all(|corner| (corner[1] - floor).abs() < 1e-4)
    };
    assert!(scene.geometries.iter().any(on_floor), "{report:?}");
    let all = 2 * (9 + 80 + 1);
    assert_eq!(report.result.triangles, all, "all but the box in the block");
}

/// Two plates with a slot of .04 between them, and a strip 1.2 below the slot in a closed trough.
#[test]
fn what_a_narrow_slot_shows_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = cuboid("left", [0.0, 1.2, 0.0], [1.98, 1.6, 4.0], 0);
    text += &cuboid("right", [2.02, 1.2, 0.0], [4.0, 1.6, 4.0], 8);
    text += &cuboid("trough", [0.0, -0.4, 0.0], [4.0, 0.0, 4.0], 16);
    text += &cuboid("back", [0.0, 0.0, -0.2], [4.0, 1.2, 0.0], 24);
    text += &cuboid("front", [0.0, 0.0, 4.0], [4.0, 1.2, 4.2], 32);
    text += &cuboid("west", [-0.2, 0.0, 0.0], [0.0, 1.2, 4.0], 40);
    text += &cuboid("east", [4.0, 0.0, 0.0], [4.2, 1.2, 4.0], 48);
    text += &cuboid("strip", [1.9, 0.02, 0.3], [2.1, 0.06, 0.6], 56);
    fs::write(dir.path().join("slot.obj"), text).unwrap();
    let asked = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let report = optimize(dir.path(), &["slot.obj"], asked, "out");
    let exports = dir.path().join("out/exports");
    let scene = assetfs_engine::import::import(&exports, &["model.glb".to_owned()])
        .unwrap()
        .scene;
    let top_of_strip = scene.geometries.iter().any(|geometry| {
        let corners = geometry.positions().as_chunks::<3>().0;
        corners.iter().any(|corner| (corner[1] - 0.06).abs() < 1e-4)
    });
    assert!(top_of_strip, "{report:?}");
}

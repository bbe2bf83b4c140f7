//! Simplification of models with few triangles: solids stay solid, textures keep their places, and the same model
//! gives the same file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use assetfs_engine::import::import;
use assetfs_engine::job::{OptimizeTask, Pictures, Report, Task, run_with};
use assetfs_engine::pictures::ModelPictures;
use assetfs_engine::scene::Scene;
use assetfs_engine::simplify::{Limits, simplify};
use serde_json::{Value, json};

use crate::log_lines::LogLines as _;
use crate::made::{BOX_SIDES, Obj};

/// The triangles of a box from `low` to `high`, as an object of an OBJ file whose vertices start behind `before`.
pub(crate) fn cuboid(name: &str, low: [f32; 3], high: [f32; 3], before: usize) -> String {
    let mut text = format!("o {name}\n");
    for corner in 0..8 {
        let at = |axis: usize| {
            if corner >> axis & 1 == 0 {
                low[axis]
            } else {
                high[axis]
            }
        };
        writeln!(text, "v {} {} {}", at(0), at(1), at(2)).unwrap();
    }
    for [a, b, c, d] in BOX_SIDES {
        let [a, b, c, d] = [a, b, c, d].map(|corner| corner + 1 + before);
        writeln!(text, "f {a} {b} {c}\nf {a} {c} {d}").unwrap();
    }
    text
}

/// A ball of many triangles whose picture is a checkerboard, in two halves of the picture that meet in a seam.
fn checkered_ball(dir: &Path) {
    let mut text = String::from("mtllib m.mtl\nusemtl m\n");
    let (rings, steps) = (12, 24);
    for ring in 0..=rings {
        for step in 0..=steps {
            let (v, u) = (ring as f32 / rings as f32, step as f32 / steps as f32);
            let (low, around) = (v * std::f32::consts::PI, u * std::f32::consts::TAU);
            let (x, y, z) = (
                low.sin() * around.cos(),
                low.cos(),
                low.sin() * around.sin(),
            );
            writeln!(text, "v {x} {y} {z}\nvt {u} {v}").unwrap();
        }
    }
    for ring in 0..rings {
        for step in 0..steps {
            let a = ring * (steps + 1) + step + 1;
            let (b, c, d) = (a + 1, a + steps + 2, a + steps + 1);
            writeln!(text, "f {a}/{a} {b}/{b} {c}/{c}\nf {a}/{a} {c}/{c} {d}/{d}").unwrap();
        }
    }
    fs::write(dir.join("ball.obj"), text).unwrap();
    fs::write(dir.join("m.mtl"), "newmtl m\nmap_Kd m.png\n").unwrap();
    let picture = image::RgbImage::from_fn(64, 64, |x, y| {
        image::Rgb(if (x / 8 + y / 8) % 2 == 0 {
            [250, 200, 40]
        } else {
            [20, 60, 160]
        })
    });
    picture.save(dir.join("m.png")).unwrap();
}

pub(crate) fn optimize(dir: &Path, files: &[&str], config: Value, out: &str) -> Report {
    let task = Task::Optimize(OptimizeTask {
        input_dir: dir.to_owned(),
        files: files.iter().map(|name| (*name).to_owned()).collect(),
        output_dir: dir.join(out),
        config: config.as_object().unwrap().clone(),
        export_name: None,
        base_name: "model".to_owned(),
        scale: 1.0,
    });
    run_with(&task, Pictures::Skipped, &mut |_| {}).unwrap()
}

fn read(dir: &Path, files: &[&str]) -> Scene {
    let files: Vec<String> = files.iter().map(|name| (*name).to_owned()).collect();
    import(dir, &files).unwrap().scene
}

#[test]
fn a_closed_box_does_not_become_a_sheet() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("box.obj"),
        cuboid("box", [0.0; 3], [1.0, 2.0, 3.0], 0),
    )
    .unwrap();
    for count in [1, 2, 3, 6] {
        let config = json!({ "limits": { "faces": { "count": count } } });
        let report = optimize(dir.path(), &["box.obj"], config, "out");
        let result = read(&dir.path().join("out/exports"), &["model.glb"]);
        let size = result.bounds().unwrap().size();
        assert!(size.min_element() > 0.3, "{count}: {size}");
        assert!(
            (4..12).contains(&report.result.triangles),
            "{count}: {report:?}"
        );
        let gives_way = report
            .warnings
            .lines()
            .iter()
            .any(|line| line.contains("is not met"));
        let says_within = |line: &String| line.contains("within the limits already");
        assert!(
            !gives_way || !report.warnings.lines().iter().any(says_within),
            "{:?}",
            report.warnings.lines()
        );
        assert_eq!(
            gives_way,
            report.result.triangles > count,
            "{:?}",
            report.warnings.lines()
        );
    }
}

#[test]
fn small_solids_next_to_a_large_one_stay_solid() {
    let dir = tempfile::tempdir().unwrap();
    checkered_ball(dir.path());
    let ball = fs::read_to_string(dir.path().join("ball.obj")).unwrap();
    let vertices = ball.lines().filter(|line| line.starts_with("v ")).count();
    let text =
        ball + "usemtl other\n" + &cuboid("foot", [-0.1, -1.2, -0.1], [0.1, -1.1, 0.1], vertices);
    fs::write(dir.path().join("ball.obj"), text).unwrap();
    let files = ["ball.obj", "m.mtl", "m.png"];
    let config = json!({ "limits": { "faces": { "count": 40 } } });
    let report = optimize(dir.path(), &files, config, "out");
    assert!(report.result.triangles <= 40, "{report:?}");
    let result = read(&dir.path().join("out/exports"), &["model.glb"]);
    let sizes: Vec<_> = result
        .geometries
        .iter()
        .map(|part| part.bounds().unwrap().size())
        .collect();
    assert_eq!(sizes.len(), 2);
    for size in sizes {
        assert!(size.min_element() > size.max_element() * 0.2, "{size}");
    }
}

#[test]
fn texture_of_a_small_model_stays_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    checkered_ball(dir.path());
    let files = ["ball.obj", "m.mtl", "m.png"];
    let source = ModelPictures::draw(&read(dir.path(), &files));
    let config = json!({ "limits": { "faces": { "percentage": 40 } } });
    let report = optimize(dir.path(), &files, config, "out");
    assert!(report.result.triangles <= 230, "{report:?}");
    let result = read(&dir.path().join("out/exports"), &["model.glb"]);
    let score = source
        .compare(&source.draw_where_it_is(&result))
        .average_score();
    assert!(score > 75.0, "{score}");
}

#[test]
fn the_same_model_gives_the_same_file_on_one_core_and_on_many() {
    let dir = tempfile::tempdir().unwrap();
    checkered_ball(dir.path());
    let bytes = |cores: usize| {
        let out = format!("out-{cores}");
        let config = json!({ "limits": { "faces": { "percentage": 20 } } });
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(cores)
            .build()
            .unwrap();
        pool.install(|| optimize(dir.path(), &["ball.obj", "m.mtl", "m.png"], config, &out));
        fs::read(dir.path().join(out).join("exports/model.glb")).unwrap()
    };
    let alone = bytes(1);
    assert!(bytes(2) == alone && bytes(5) == alone);
}

/// A thousand small loose boxes of about one size, as one mesh.
#[test]
fn loose_pieces_go_one_by_one_and_not_all_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for number in 0..1000 {
        let at = [number % 10, number / 10 % 10, number / 100].map(|step| step as f32);
        let size = 0.5 + number as f32 * 1e-5;
        let cuboid = cuboid("box", at, at.map(|low| low + size), number * 8);
        text.push_str(cuboid.strip_prefix("o box\n").unwrap());
    }
    fs::write(dir.path().join("boxes.obj"), text).unwrap();
    for count in [5000, 3000, 1500] {
        let config = json!({ "limits": { "faces": { "count": count } } });
        let report = optimize(dir.path(), &["boxes.obj"], config, &format!("out{count}"));
        let triangles = report.result.triangles;
        assert!(
            triangles <= count && triangles >= count / 2,
            "{triangles} of {count}: {:?}",
            report.warnings.lines()
        );
    }
}

/// Each part that would vanish is simplified alone; that works for any number of parts.
#[test]
fn hundreds_of_small_parts_all_keep_a_shape() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for number in 0..400 {
        let at = [number % 20, number / 20, 0].map(|step| step as f32);
        text.push_str(&cuboid(
            &format!("box{number}"),
            at,
            at.map(|low| low + 0.5),
            number * 8,
        ));
    }
    fs::write(dir.path().join("boxes.obj"), text).unwrap();
    let config = json!({ "limits": { "faces": { "count": 3400 } } });
    let report = optimize(dir.path(), &["boxes.obj"], config, "out");
    let result = read(&dir.path().join("out/exports"), &["model.glb"]);
    assert_eq!(result.geometries.len(), 400);
    assert!(
        (3200..=3400).contains(&report.result.triangles),
        "{report:?}"
    );
}

/// One vertex far away leaves no digits for the lengths of the other edges, unless it does not count for the size.
#[test]
fn a_stray_vertex_does_not_spoil_the_rest_of_the_model() {
    let dir = tempfile::tempdir().unwrap();
    checkered_ball(dir.path());
    let ball = fs::read_to_string(dir.path().join("ball.obj")).unwrap();
    let config = json!({ "limits": { "faces": { "count": 250 } } });
    for far in [1e4, 1e6, 1e7, 1e8, 1e20] {
        let mut vertices = 0;
        let text: Vec<String> = ball
            .lines()
            .map(|line| {
                vertices += usize::from(line.starts_with("v "));
                match line.starts_with("v ") && vertices == 160 {
                    true => format!("v {far} 0.1 0.2"),
                    false => line.to_owned(),
                }
            })
            .collect();
        fs::write(dir.path().join("stray.obj"), text.join("\n")).unwrap();
        let out = format!("out{far}");
        let report = optimize(
            dir.path(),
            &["stray.obj", "m.mtl", "m.png"],
            config.clone(),
            &out,
        );
        let triangles = report.result.triangles;
        assert!((225..=250).contains(&triangles), "{far}: {report:?}");
        let is_missed = |line: &String| line.contains("is not met");
        assert!(
            !report.warnings.lines().iter().any(is_missed),
            "{far}: {report:?}"
        );
        let result = read(&dir.path().join(out).join("exports"), &["model.glb"]);
        let places: Vec<glam::Vec3> = result
            .geometries
            .iter()
            .flat_map(|geometry| geometry.positions().chunks_exact(3))
            .map(glam::Vec3::from_slice)
            .collect();
        let strays: Vec<&glam::Vec3> = places.iter().filter(|place| place.x > 1e3).collect();
        let own = glam::Vec3::new(far as f32, 0.1, 0.2);
        assert!(!strays.is_empty(), "{far}");
        assert!(
            strays.iter().all(|place| **place == own),
            "{far}: {strays:?}"
        );
        let on_ball = |place: &&glam::Vec3| (place.length() - 1.0).abs() < 0.1;
        assert_eq!(
            places.iter().filter(on_ball).count(),
            places.len() - strays.len(),
            "{far}"
        );
    }
}

#[test]
fn half_of_one_triangle_is_that_triangle() {
    let dir = tempfile::tempdir().unwrap();
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    fs::write(dir.path().join("triangle.obj"), text).unwrap();
    let config = json!({ "limits": { "faces": { "percentage": 50 } } });
    let report = optimize(dir.path(), &["triangle.obj"], config, "out");
    assert_eq!(report.result.triangles, 1);
}

#[test]
fn a_vertex_with_too_many_triangles_stays_if_the_topology_has_to() {
    let mut disc = Obj::default();
    let count = 40_000;
    let mut corners = vec![[0.0; 3]];
    corners.extend((0..count).map(|corner| {
        let angle = corner as f32 / count as f32 * std::f32::consts::TAU;
        [angle.cos(), angle.sin(), 0.0]
    }));
    let triangles: Vec<[usize; 3]> = (0..count)
        .map(|at| [0, at + 1, (at + 1) % count + 1])
        .collect();
    disc.shape(&corners, &triangles);
    let mut scene = disc.scene();
    let kept = Limits {
        keep_topology: true,
        ..Limits::of_triangles(1_000)
    };
    let simplified = simplify(&mut scene, &kept);
    assert_eq!(simplified.after, count as u64);
    assert_eq!(scene.drawn_triangles(), count as u64);
}

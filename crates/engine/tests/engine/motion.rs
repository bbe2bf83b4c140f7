//! The motion of a source is kept in its result: skins, animations, morph targets, at several times.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assetfs_engine::import::import;
use assetfs_engine::job::{OptimizeTask, Pictures, Report, Task, run_with};
use assetfs_engine::scene::{Draw, Scene, index_in};
use assetfs_engine::surface::Surface;
use glam::{Quat, Vec3};
use serde_json::{Map, Value, json};

fn sample(name: &str) -> Option<PathBuf> {
    Some(crate::samples::samples()?.join(name))
}

fn read(path: &Path) -> Scene {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    import(path.parent().unwrap(), &[name]).unwrap().scene
}

/// The results of optimizing a model, by name.
struct Optimized {
    dir: tempfile::TempDir,
    report: Report,
}

impl Optimized {
    fn of(model: &Path, config: Value) -> Optimized {
        let dir = tempfile::tempdir().unwrap();
        let task = Task::Optimize(OptimizeTask {
            input_dir: model.parent().unwrap().to_owned(),
            files: vec![model.file_name().unwrap().to_str().unwrap().to_owned()],
            output_dir: dir.path().to_owned(),
            config: config.as_object().unwrap().clone(),
            export_name: None,
            base_name: "model".to_owned(),
            scale: 1.0,
        });
        let report = run_with(&task, Pictures::Skipped, &mut |_| {}).unwrap();
        Optimized { dir, report }
    }

    fn scenes(&self) -> Vec<(String, Scene)> {
        let exports = self.report.exports.iter();
        assert!(exports.len() > 0, "nothing was exported");
        exports
            .map(|export| {
                let path = self.dir.path().join("exports").join(&export.name);
                (export.name.clone(), read(&path))
            })
            .collect()
    }
}

/// Every way to store a model with its motion, simplified to `percent` of its triangles.
fn all_ways(percent: u32) -> Value {
    let ways = [
        ("glb", "none"),
        ("gltf", "none"),
        ("glb", "draco"),
        ("glb", "meshopt"),
    ];
    let exports: Vec<Value> = ways
        .iter()
        .map(|(format, method)| {
            json!({
                "fileType": format,
                "meshCompressionMethod": method,
                "fileName": format!("{format}-{method}"),
            })
        })
        .collect();
    json!({
        "limits": { "faces": { "percentage": percent } },
        "compressionAndExport": { "fileExports": exports },
    })
}

/// The scene as an animation has it at a time.
fn posed(scene: &Scene, animation: usize, time: f32) -> Scene {
    let mut posed = scene.clone();
    let animation = &scene.list("animations")[animation];
    for channel in animation["channels"].as_array().unwrap() {
        let sampler = &animation["samplers"][index_in(channel, "sampler").unwrap()];
        let path = channel["target"]["path"].as_str().unwrap();
        let node = index_in(&channel["target"], "node").unwrap();
        let value = sampled(scene, sampler, path == "rotation", time);
        let node = posed.list_mut("nodes").unwrap()[node]
            .as_object_mut()
            .unwrap();
        node.insert(path.to_owned(), json!(value));
    }
    posed
}

/// The value of a sampler at a time; all three interpolations of glTF.
fn sampled(scene: &Scene, sampler: &Value, is_rotation: bool, time: f32) -> Vec<f32> {
    let table = |key| &scene.tables[index_in(sampler, key).unwrap()].values;
    let (times, values) = (table("input"), table("output"));
    let kind = sampler["interpolation"].as_str().unwrap_or("LINEAR");
    let width = values.len() / times.len();
    let after = times.partition_point(|at| *at <= time);
    let (one, two) = (after.saturating_sub(1), after.min(times.len() - 1));
    let key = |index: usize| &values[index * width..(index + 1) * width];
    let span = times[two] - times[one];
    let share = if span > 0.0 {
        (time - times[one]) / span
    } else {
        0.0
    };
    let mut value = match kind {
        "STEP" => key(one).to_vec(),
        "CUBICSPLINE" => cubic(key(one), key(two), span, share),
        _ if is_rotation => {
            let [one, two] = [one, two].map(|index| Quat::from_slice(key(index)).normalize());
            one.slerp(two, share).to_array().to_vec()
        }
        _ => mixed(key(one), key(two), share),
    };
    if is_rotation {
        value = Quat::from_slice(&value).normalize().to_array().to_vec();
    }
    value
}

fn mixed(one: &[f32], two: &[f32], share: f32) -> Vec<f32> {
    one.iter()
        .zip(two)
        .map(|(one, two)| one + (two - one) * share)
        .collect()
}

/// Keys are incoming tangents, values, outgoing tangents.
fn cubic(one: &[f32], two: &[f32], span: f32, t: f32) -> Vec<f32> {
    let width = one.len() / 3;
    let (t2, t3) = (t * t, t * t * t);
    (0..width)
        .map(|part| {
            let (start, leave) = (one[width + part], one[2 * width + part] * span);
            let (end, arrive) = (two[width + part], two[part] * span);
            (2.0 * t3 - 3.0 * t2 + 1.0) * start
                + (t3 - 2.0 * t2 + t) * leave
                + (3.0 * t2 - 2.0 * t3) * end
                + (t3 - t2) * arrive
        })
        .collect()
}

fn duration(scene: &Scene, animation: usize) -> f32 {
    let samplers = scene.list("animations")[animation]["samplers"]
        .as_array()
        .unwrap();
    samplers
        .iter()
        .flat_map(|sampler| &scene.tables[index_in(sampler, "input").unwrap()].values)
        .fold(0.0, |last: f32, time| last.max(*time))
}

fn names(scene: &Scene, list: &str) -> Vec<Value> {
    scene
        .list(list)
        .iter()
        .map(|item| item["name"].clone())
        .collect()
}

/// All positions of a draw: at rest in the mesh, and in the world.
fn positions(scene: &Scene, draw: &Draw) -> Vec<(Vec3, Vec3)> {
    let primitives = scene.meshes[draw.mesh].primitives.iter();
    primitives
        .flat_map(|primitive| {
            let geometry = &scene.geometries[primitive.geometry];
            let rest = geometry.positions().chunks_exact(3).map(Vec3::from_slice);
            rest.zip(draw.world_positions(geometry)).collect::<Vec<_>>()
        })
        .collect()
}

/// Compares the posed vertices of `result` with those that are nearest in the source at rest. The allowed distance is
/// the distance at rest plus `slack` of the model's size.
fn assert_moves_alike(source: &Scene, result: &Scene, slack: f32, what: &str) {
    let size = source.bounds().unwrap().diagonal();
    let (before, after) = (source.draws(), result.draws());
    assert_eq!(before.len(), after.len(), "{what}");
    for (one, two) in before.iter().zip(&after) {
        if let (Some(one), Some(two)) = (&one.joints, &two.joints) {
            assert_eq!(one.len(), two.len(), "{what}");
            for (one, two) in one.iter().zip(two) {
                assert!(
                    one.abs_diff_eq(*two, 1e-3 * size.max(1.0)),
                    "{what}: {one} {two}"
                );
            }
        }
        assert_eq!(one.joints.is_some(), two.joints.is_some(), "{what}");
        let scale = one.world.transform_vector3(Vec3::X).length();
        let known = positions(source, one);
        let posed = positions(result, two);
        assert!(!posed.is_empty(), "{what}: nothing is drawn");
        for (rest, place) in posed {
            let (near, expected) = known
                .iter()
                .min_by(|one, two| one.0.distance(rest).total_cmp(&two.0.distance(rest)))
                .unwrap();
            let off_at_rest = near.distance(rest) * scale.max(1.0);
            let off = expected.distance(place);
            assert!(
                off <= 2.0 * off_at_rest + slack * size,
                "{what}: {place} instead of {expected}, {off} off, {off_at_rest} at rest, size {size}"
            );
        }
    }
}

/// Every animation, at its start, its end and three times between.
fn assert_plays_alike(source: &Scene, result: &Scene, slack: f32, what: &str) {
    assert_eq!(
        names(source, "animations"),
        names(result, "animations"),
        "{what}"
    );
    for animation in 0..source.list("animations").len() {
        let length = duration(source, animation);
        assert!(
            (duration(result, animation) - length).abs() < 1e-4,
            "{what}"
        );
        for part in [0.0, 0.21, 0.5, 0.83, 1.0] {
            let time = length * part;
            let [before, after] = [source, result].map(|scene| posed(scene, animation, time));
            let what = format!("{what}, animation {animation} at {time} s");
            assert_moves_alike(&before, &after, slack, &what);
        }
    }
}

#[test]
fn the_fox_runs_as_before() {
    let Some(path) = sample("04-fox-animated.glb") else {
        return;
    };
    let source = read(&path);
    assert_eq!(names(&source, "animations"), ["Survey", "Walk", "Run"]);
    // Of 144 triangles the corners lie between those of the source, some of which follow other joints.
    for (percent, slack) in [(100, 2e-3), (25, 0.03)] {
        let optimized = Optimized::of(&path, all_ways(percent));
        for (name, result) in optimized.scenes() {
            assert_eq!(names(&source, "nodes"), names(&result, "nodes"), "{name}");
            assert!(
                result.drawn_triangles() * 100 <= source.drawn_triangles() * u64::from(percent)
            );
            assert_plays_alike(&source, &result, slack, &format!("{percent} % {name}"));
        }
    }
}

#[test]
fn the_fox_keeps_its_surface_in_motion() {
    let Some(path) = sample("04-fox-animated.glb") else {
        return;
    };
    let source = read(&path);
    let optimized = Optimized::of(
        &path,
        json!({ "limits": { "faces": { "percentage": 25 } } }),
    );
    let (_, result) = optimized.scenes().remove(0);
    let apart = |one: &Scene, two: &Scene| Surface::of(one).quick_distance(&Surface::of(two));
    let at_rest = apart(&source, &result);
    for animation in 0..source.list("animations").len() {
        for part in [0.0, 0.3, 0.6] {
            let time = duration(&source, animation) * part;
            let [before, after] = [&source, &result].map(|scene| posed(scene, animation, time));
            let moved = apart(&before, &after);
            assert!(
                moved < 2.5 * at_rest,
                "animation {animation} at {time} s: {moved} % apart, {at_rest} % at rest"
            );
        }
    }
}

/// The names of the morph targets of each mesh.
fn target_names(scene: &Scene) -> BTreeSet<String> {
    let meshes = scene.meshes.iter();
    meshes
        .map(|mesh| mesh.json.get("extras").cloned().unwrap_or_default()["targetNames"].to_string())
        .collect()
}

fn target_counts(scene: &Scene) -> BTreeSet<usize> {
    scene
        .geometries
        .iter()
        .map(|geometry| geometry.targets.len())
        .collect()
}

#[test]
fn morph_targets_keep_names_weights_and_shapes() {
    for name in ["05-morph-stress-test.gltf", "05b-sparse-morph-cube.glb"] {
        let Some(path) = sample(name) else { return };
        let source = read(&path);
        for percent in [100, 25] {
            let optimized = Optimized::of(&path, all_ways(percent));
            for (export, result) in optimized.scenes() {
                let what = format!("{name} at {percent} % as {export}");
                assert_eq!(target_names(&source), target_names(&result), "{what}");
                assert_eq!(target_counts(&source), target_counts(&result), "{what}");
                let weights = |scene: &Scene| -> Vec<Map<String, Value>> {
                    scene.meshes.iter().map(|mesh| mesh.json.clone()).collect()
                };
                assert_eq!(weights(&source), weights(&result), "{what}");
                assert_moves_alike(&source, &result, 2e-3, &what);
                assert_plays_alike(&source, &result, 2e-3, &what);
                assert_targets_alike(&source, &result, &what);
            }
        }
    }
}

/// Each target alone, at its full weight, gives the same shape.
fn assert_targets_alike(source: &Scene, result: &Scene, what: &str) {
    let most = target_counts(source).into_iter().max().unwrap_or(0);
    for target in 0..most {
        let [before, after] = [source, result].map(|scene| {
            let mut shaped = scene.clone();
            for node in shaped.list_mut("nodes").unwrap() {
                let node = node.as_object_mut().unwrap();
                if node.contains_key("mesh") {
                    let weights: Vec<u8> = (0..most).map(|at| u8::from(at == target)).collect();
                    node.insert("weights".to_owned(), json!(weights));
                }
            }
            shaped
        });
        assert_moves_alike(&before, &after, 2e-3, &format!("{what}, target {target}"));
    }
}

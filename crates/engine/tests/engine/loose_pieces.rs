//! Models of many loose pieces: a limit is used as far as it goes, more triangles never look worse, and equal pieces are
//! thinned everywhere and not in the order of the file.

use assetfs_engine::compare::{Comparison, PictureSet, quick_difference};
use assetfs_engine::import::import;
use assetfs_engine::render::{ConvertedModel, PreparedScene, RenderSettings};
use assetfs_engine::scene::Scene;
use assetfs_engine::simplify::{Limits, simplify};

use crate::made::{Obj, furnished, furnished_room, gallery};
use crate::samples::samples;

fn simplified(scene: &Scene, triangles: u64) -> Scene {
    let mut result = scene.clone();
    simplify(&mut result, &Limits::of_triangles(triangles));
    result
}

fn small_pictures(size: usize) -> RenderSettings {
    RenderSettings {
        size,
        samples: 1,
        background: Some([236, 237, 239]),
        sky_lights: 0,
    }
}

#[test]
fn a_limit_is_used_and_more_triangles_never_look_worse() {
    let source = furnished();
    let adapted = ConvertedModel::of(&source).scene;
    let bounds = adapted.bounding_box().unwrap();
    let prepared = PreparedScene::new(&adapted);
    let settings = small_pictures(96);
    let before = prepared.render_six(&bounds, &settings);
    let mut best = f64::INFINITY;
    for limit in [60, 250, 330, 1000, 2100, 3200] {
        let result = simplified(&source, limit);
        let triangles = result.drawn_triangles();
        assert!(
            (limit * 4 / 5..=limit).contains(&triangles),
            "{triangles} of {limit}"
        );
        let shown = prepared.reshaped(&ConvertedModel::shape_of(&result));
        let found = quick_difference(&before, &shown.render_six(&bounds, &settings)).mean;
        assert!(
            found < best * 1.1 + 0.002,
            "{limit}: {found}, with fewer {best}"
        );
        best = best.min(found);
    }
    assert!(best < 0.05, "{best}");
}

/// The similarity of results with more and more triangles, in small pictures.
fn similarities(source: &Scene, limits: &[u64]) -> Vec<f64> {
    let adapted = ConvertedModel::of(source).scene;
    let bounds = adapted.bounding_box().unwrap();
    let prepared = PreparedScene::new(&adapted);
    let settings = small_pictures(128);
    let inside = prepared.inside_views(&bounds);
    let pictures = |scene: &PreparedScene| {
        let mut pictures = scene.render_six(&bounds, &settings);
        pictures.extend(scene.render_inside(&inside, &bounds, &settings));
        pictures
    };
    let before = pictures(&prepared);
    let similarity = |limit: &u64| {
        let result = simplified(source, *limit);
        let scene = prepared.reshaped(&ConvertedModel::shape_of(&result));
        let after = pictures(&scene);
        let [one, other] = [(&prepared, &before), (&scene, &after)]
            .map(|(scene, pictures)| PictureSet { scene, pictures });
        Comparison::new(one, other).average_score()
    };
    limits.iter().map(similarity).collect()
}

/// The scores of neighbouring limits (52 to 56 triangles of a truck) differ by 0.3 in no order, because other edges collapse
/// last. Three times as much is no difference that one can see.
const NOISE: f64 = 1.0;

#[test]
fn more_triangles_never_look_worse() {
    let limits = [100, 200, 400, 800];
    let mut all = vec![("room", furnished_room()), ("gallery", gallery())];
    if let Some(samples) = samples() {
        let barrel = import(&samples, &["03-exploding-barrel.glb".to_owned()]);
        all.push(("barrel", barrel.unwrap().scene));
    }
    for (name, source) in all {
        let found = similarities(&source, &limits);
        let mut best = 0.0_f64;
        for (limit, similarity) in limits.iter().zip(&found) {
            assert!(*similarity > best - NOISE, "{name} at {limit}: {found:?}");
            best = best.max(*similarity);
        }
    }
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

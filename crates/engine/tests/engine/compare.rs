//! Comparing a model with its result: the same is 100, worse is less, a lost part is named.

use assetfs_engine::compare::{Comparison, PictureSet, side_by_side};
use assetfs_engine::import::import;
use assetfs_engine::render::{
    BoundingBox, ConvertedModel, Picture, PreparedScene, RenderScene, RenderSettings, View,
};
use assetfs_engine::sample::{ChairDetail, write_chair_with};

fn chair() -> RenderScene {
    let dir = tempfile::tempdir().unwrap();
    let chair = write_chair_with(dir.path(), ChairDetail::Small).unwrap();
    ConvertedModel::of(&import(dir.path(), &chair.names).unwrap().scene).scene
}

struct Shown {
    scene: PreparedScene,
    pictures: Vec<(View, Picture)>,
}

impl Shown {
    fn new(scene: &RenderScene, bounds: &BoundingBox) -> Shown {
        let scene = PreparedScene::new(scene);
        let settings = RenderSettings {
            size: 256,
            ..RenderSettings::default()
        };
        let pictures = scene.render_six(bounds, &settings);
        Shown { scene, pictures }
    }

    fn gallery(&self) -> PictureSet<'_> {
        PictureSet {
            scene: &self.scene,
            pictures: &self.pictures,
        }
    }
}

fn compare(source: &RenderScene, result: &RenderScene) -> Comparison {
    let bounds = source.bounding_box().unwrap();
    let (source, result) = (Shown::new(source, &bounds), Shown::new(result, &bounds));
    Comparison::new(source.gallery(), result.gallery())
}

#[test]
fn same_model_scores_100_everywhere() {
    let chair = chair();
    let comparison = compare(&chair, &chair);
    assert_eq!(comparison.average_score(), 100.0);
    assert_eq!(comparison.best_score(), 100.0);
    assert_eq!(comparison.worst_tile(), None);
    assert!(comparison.warnings().is_empty());
    assert_eq!(comparison.views.len(), 6);
}

#[test]
fn lost_part_lowers_the_worst_tile_and_is_named() {
    let chair = chair();
    let mut without = chair.clone();
    without
        .instances
        .retain(|instance| instance.name != "Stretcher middle");
    assert_eq!(without.instances.len() + 1, chair.instances.len());
    let comparison = compare(&chair, &without);
    let (_, tile) = comparison.worst_tile().unwrap();
    assert!(
        comparison.average_score() > 90.0,
        "the mean hides it: {}",
        comparison.average_score()
    );
    assert!(tile.score < 60.0, "{tile:?}");
    let changed: Vec<&str> = comparison
        .changed_parts
        .iter()
        .map(|part| part.name.as_str())
        .collect();
    assert_eq!(changed, ["Stretcher middle"]);
    assert!(comparison.warnings()[0].starts_with("Stretcher middle: "));
}

#[test]
fn greater_change_scores_less() {
    let chair = chair();
    let moved = |by: f32| {
        let mut moved = chair.clone();
        for instance in &mut moved.instances {
            instance.world.w_axis.x += by;
        }
        compare(&chair, &moved).average_score()
    };
    let (little, much) = (moved(0.004), moved(0.03));
    assert!(much < little && little < 100.0, "{little} {much}");
}

#[test]
fn pictures_are_written_side_by_side() {
    let chair = chair();
    let shown = Shown::new(&chair, &chair.bounding_box().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let pictures: Vec<&Picture> = shown
        .pictures
        .iter()
        .take(2)
        .map(|(_, picture)| picture)
        .collect();
    let sheet = side_by_side(&pictures);
    sheet.write_png(&dir.path().join("sheet.png")).unwrap();
    pictures[0]
        .write_jpeg(&dir.path().join("thumb.jpg"))
        .unwrap();
    let read = image::open(dir.path().join("sheet.png"))
        .unwrap()
        .into_rgba8();
    assert_eq!((read.width(), read.height()), (256 * 2 + 8, 256));
    assert_eq!(
        read.get_pixel(100, 100).0[..3],
        pictures[0].rgba[(100 * 256 + 100) * 4..][..3]
    );
    let thumb = image::open(dir.path().join("thumb.jpg")).unwrap();
    assert_eq!((thumb.width(), thumb.height()), (256, 256));
}

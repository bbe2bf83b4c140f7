use super::super::import::import;
use super::super::sample::{ChairDetail, write_chair_with};
use super::files::write_heat_maps;
use super::*;

fn chair() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let chair = write_chair_with(dir.path(), ChairDetail::Small).unwrap();
    import(dir.path(), &chair.names).unwrap().scene
}

#[test]
fn model_moved_as_a_whole_still_looks_the_same() {
    let source = chair();
    let mut moved = source.clone();
    let by = DMat4::from_translation(DVec3::new(3.0, -1.0, 0.5));
    let root = &mut moved.list_mut("nodes").unwrap()[0];
    root["translation"] = serde_json::json!([3.0, -1.0, 0.5]);
    let pictures = ModelPictures::draw(&source);
    let score = |by| {
        pictures
            .compare(&pictures.draw_result(&moved, by))
            .average_score()
    };
    let (put_back, left_there) = (score(by), score(DMat4::IDENTITY));
    assert!(put_back > 99.0, "{put_back}");
    assert!(left_there < 60.0, "{left_there}");
}

#[test]
fn pictures_have_the_names_of_the_service() {
    let dir = tempfile::tempdir().unwrap();
    let pictures = ModelPictures::draw(&chair());
    let comparison = pictures.compare(&pictures);
    let mut names = pictures.write_views(dir.path(), "original").unwrap();
    names.extend(write_heat_maps(&comparison, dir.path(), "glb").unwrap());
    let overview = pictures.write_overview_and_thumbnail(dir.path());
    let [overview, thumbnail] = overview.unwrap().try_into().unwrap();
    assert_eq!(overview, "renders/overview.jpg");
    let large = image::open(dir.path().join(&overview)).unwrap();
    assert_eq!(large.width(), LARGE_SIZE as u32);
    names.push(thumbnail);
    assert_eq!(names[0], "renders/original-back.png");
    assert_eq!(names[11], "renders/glb-top__diff.png");
    for name in names {
        let image = image::open(dir.path().join(&name)).unwrap();
        let size = PICTURE_SIZE as u32;
        assert_eq!((image.width(), image.height()), (size, size), "{name}");
    }
}

#[test]
fn large_views_show_what_was_compared() {
    let dir = tempfile::tempdir().unwrap();
    let pictures = ModelPictures::draw(&chair());
    let names = pictures.write_large_views(dir.path(), "glb").unwrap();
    assert_eq!(names.len(), View::SIX.len());
    for (view, name) in View::SIX.into_iter().zip(&names) {
        assert_eq!(*name, format!("renders/glb-{}.png", view.name()));
        let large = image::open(dir.path().join(name)).unwrap().into_rgb8();
        assert_eq!(large.width(), LARGE_SIZE as u32);
        let side = PICTURE_SIZE as u32;
        let small = image::imageops::resize(&large, side, side, FilterType::Triangle);
        let compared = pictures.view(view).unwrap().rgba.chunks_exact(4);
        let apart = small.pixels().zip(compared).map(|(one, other)| {
            let channels = one.0.iter().zip(other);
            channels
                .map(|(one, other)| u32::from(one.abs_diff(*other)))
                .sum::<u32>()
        });
        let mean = f64::from(apart.sum::<u32>()) / f64::from(side * side * 3);
        assert!(mean < 4.0, "{name}: {mean}");
    }
}

#[test]
fn pictures_for_looking_at_need_none_of_those_that_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let pictures = ModelPictures::undrawn(&chair());
    pictures.write_overview_and_thumbnail(dir.path()).unwrap();
    pictures.write_large_views(dir.path(), "glb").unwrap();
    assert!(pictures.compared.get().is_none() && pictures.inside.get().is_none());
    let drawn = ModelPictures::draw(&chair());
    assert!(drawn.compared.get().is_some());
    assert_eq!(pictures.compare(&drawn).average_score(), 100.0);
}

#[test]
fn turntable_shows_the_whole_model_from_all_around() {
    let dir = tempfile::tempdir().unwrap();
    let names = ModelPictures::draw(&chair())
        .write_turntable(dir.path())
        .unwrap();
    assert_eq!(names.len(), usize::from(View::TURNS));
    assert_eq!(names[0], "turntable/000.jpg");
    let pictures: Vec<_> = names
        .iter()
        .map(|name| image::open(dir.path().join(name)).unwrap().into_rgb8())
        .collect();
    let background = *pictures[0].get_pixel(0, 0);
    for (name, picture) in names.iter().zip(&pictures) {
        let size = picture.width();
        assert_eq!(size, PICTURE_SIZE as u32 / 2);
        let seen = |x: u32, y: u32| {
            let pixel = picture.get_pixel(x, y);
            pixel
                .0
                .iter()
                .zip(background.0)
                .any(|(one, two)| one.abs_diff(two) > 24)
        };
        let border = (0..size).flat_map(|at| [(at, 0), (at, size - 1), (0, at), (size - 1, at)]);
        assert!(
            !border.into_iter().any(|(x, y)| seen(x, y)),
            "{name} is cut off"
        );
        assert!((0..size).any(|at| seen(at, size / 2)), "{name} is empty");
    }
    assert_ne!(pictures[0], pictures[1], "it turns");
}

#[test]
fn empty_model_gives_empty_pictures() {
    let pictures = ModelPictures::draw(&Scene::default());
    let front = pictures.view(View::Front).unwrap();
    assert!(
        front
            .parts
            .iter()
            .all(|part| *part == super::super::render::NO_PART)
    );
}

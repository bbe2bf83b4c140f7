//! Rooms are compared from inside as well, and surfaces are measured where no picture shows them.

use std::fs;
use std::path::Path;

use assetfs_engine::import::import;
use assetfs_engine::job::{OptimizeTask, Pictures, Report, Task, run_with};
use assetfs_engine::pictures::ModelPictures;
use assetfs_engine::scene::Scene;
use serde_json::{Value, json};

use crate::job::scene::turned;
use crate::log_lines::LogLines as _;
use crate::made::{arch, gallery, lettering, room, tree, with_sides};
use crate::simplify::cuboid;
use assetfs_engine::{Warning, WarningKind};

/// What a building of 6 by 4 by 6 has.
#[derive(Clone, Copy)]
struct Building {
    /// Walls that face inwards, without which it is a closed body.
    inner_walls: bool,
    furniture: bool,
}

const FURNISHED: Building = Building {
    inner_walls: true,
    furniture: true,
};

fn write(dir: &Path, building: Building) {
    let mut text = cuboid("outside", [0.0; 3], [6.0, 4.0, 6.0], 0);
    let mut count = 8;
    if building.inner_walls {
        let walls = cuboid("inside", [0.2; 3], [5.8, 3.8, 5.8], count);
        text.extend(walls.lines().map(|line| turned(line) + "\n"));
        count += 8;
    }
    let furniture = [
        ("table", [2.0, 0.6, 2.0], [4.0, 0.9, 3.5]),
        ("shelf", [0.3, 0.3, 0.4], [0.8, 3.0, 5.0]),
        ("bed", [3.8, 0.3, 3.9], [5.6, 1.0, 5.6]),
    ];
    for (name, low, high) in furniture.into_iter().filter(|_| building.furniture) {
        text.push_str(&cuboid(name, low, high, count));
        count += 8;
    }
    fs::write(dir.join("room.obj"), text).unwrap();
}

fn scene(building: Building) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), building);
    import(dir.path(), &["room.obj".to_owned()]).unwrap().scene
}

#[test]
fn a_room_without_its_inside_or_its_furniture_scores_under_60() {
    let shell = Building {
        inner_walls: false,
        furniture: false,
    };
    let bare = Building {
        inner_walls: true,
        furniture: false,
    };
    let source = ModelPictures::draw(&scene(FURNISHED));
    assert_eq!(source.compare(&source).average_score(), 100.0);
    let [of_shell, of_bare] = [shell, bare].map(|building| {
        let result = source.draw_where_it_is(&scene(building));
        source.compare(&result).average_score()
    });
    assert!(of_shell < 10.0, "{of_shell}, without furniture {of_bare}");
    // A wall of the same colour behind lost furniture counts as different, and the worst views count.
    assert!((20.0..60.0).contains(&of_bare), "{of_bare}");
}

#[test]
fn a_model_without_rooms_has_no_views_from_inside() {
    let body = Building {
        inner_walls: false,
        furniture: true,
    };
    let source = ModelPictures::draw(&scene(body));
    let comparison = source.compare(&source);
    assert_eq!((comparison.views.len(), comparison.inside_views()), (6, 0));
    let room = ModelPictures::draw(&scene(FURNISHED));
    assert_eq!(room.compare(&room).inside_views(), 12);
}

/// A model of the text of an OBJ file, in one double-sided material.
fn double_sided(text: &str) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("model.obj"), text).unwrap();
    let scene = import(dir.path(), &["model.obj".to_owned()]).unwrap().scene;
    with_sides(scene, true)
}

/// Rays from inside of the stone or of the crown end at sides that are drawn.
#[test]
fn a_solid_arch_and_the_crown_of_a_tree_have_no_views_from_inside() {
    let mut arch = cuboid("left", [0.0; 3], [2.0, 4.0, 3.0], 0);
    arch += &cuboid("right", [4.0, 0.0, 0.0], [6.0, 4.0, 3.0], 8);
    arch += &cuboid("top", [0.0, 4.01, 0.0], [6.0, 6.0, 3.0], 16);
    let mut state = 7u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut crown = cuboid("trunk", [-0.1, -1.3, -0.1], [0.1, 0.0, 0.1], 0);
    let mut count = 8;
    while count < 4000 * 3 {
        let middle = [number(), number(), number()];
        if middle.iter().map(|at| at * at).sum::<f32>() > 1.0 {
            continue;
        }
        for _ in 0..3 {
            let [x, y, z] = middle.map(|at| at + number() * 0.12);
            crown += &format!("v {x} {y} {z}\n");
        }
        crown += &format!("f {} {} {}\n", count + 1, count + 2, count + 3);
        count += 3;
    }
    for text in [arch, crown] {
        let source = ModelPictures::draw(&double_sided(&text));
        assert_eq!(source.compare(&source).inside_views(), 0);
    }
}

/// An arch, a tree, a gallery of beams and letters are no rooms, whether their materials are single-sided or double-sided.
#[test]
fn open_models_are_compared_from_outside_alone_and_rooms_from_inside_too() {
    for (name, scene, inside) in [
        ("arch", arch(), 0),
        ("tree", tree(), 0),
        ("gallery", gallery(), 0),
        ("letters", lettering(), 0),
        ("room", room(), 12),
    ] {
        for double_sided in [false, true] {
            let scene = with_sides(scene.clone(), double_sided);
            let source = ModelPictures::draw(&scene);
            let found = source.compare(&source).inside_views();
            assert_eq!(found, inside, "{name}, double-sided {double_sided}");
        }
    }
}

fn optimize(dir: &Path, config: Value, out: &str) -> Report {
    let task = Task::Optimize(OptimizeTask {
        input_dir: dir.to_owned(),
        files: vec!["room.obj".to_owned()],
        output_dir: dir.join(out),
        config: config.as_object().unwrap().clone(),
        export_name: None,
        base_name: "model".to_owned(),
        scale: 1.0,
    });
    run_with(&task, Pictures::Shown, &mut |_| {}).unwrap()
}

/// The warnings about shape and look.
fn warnings(report: &Report) -> Vec<&Warning> {
    let all = report.warnings.iter();
    all.filter(|warning| warning.kind != WarningKind::NoGain)
        .collect()
}

fn score_of(report: &Report) -> f64 {
    report.exports[0].quality.unwrap().avg_score
}

#[test]
fn a_room_that_loses_what_is_invisible_keeps_its_inside_and_its_score() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), FURNISHED);
    let asked = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let report = optimize(dir.path(), asked, "out");
    assert!(score_of(&report) > 99.0, "{report:?}");
    assert_eq!(warnings(&report), Vec::<&Warning>::new());
    let log = fs::read_to_string(dir.path().join("out/info.log")).unwrap();
    assert!(
        log.contains("six views and of the worst of 12 from inside"),
        "{log}"
    );
    let views = report
        .files
        .iter()
        .filter(|name| name.starts_with("renders/"));
    assert_eq!(
        views.count(),
        18,
        "six of the source, of the result, of their differences"
    );
}

/// Small loose pieces inside of a closed body: no picture shows that they are gone.
#[test]
fn a_part_that_no_picture_shows_is_missed_unless_it_was_to_be_removed() {
    let dir = tempfile::tempdir().unwrap();
    let body = Building {
        inner_walls: false,
        furniture: true,
    };
    write(dir.path(), body);
    let small =
        json!({ "sceneManipulation": { "removeSmallFeatures": { "removalPercentage": 70 } } });
    let report = optimize(dir.path(), small, "small");
    assert!(
        score_of(&report) > 99.9 && report.result.triangles == 12,
        "{report:?}"
    );
    let [warning] = warnings(&report)[..] else {
        panic!("{:?}", report.warnings.lines());
    };
    assert!(
        warning.kind == WarningKind::LooksDifferent
            && warning
                .text
                .starts_with("model.glb: 1 % of the surface of the source is at least "),
        "{warning}"
    );
    let hidden = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let report = optimize(dir.path(), hidden, "hidden");
    assert_eq!((report.result.triangles, warnings(&report).len()), (12, 0));
}

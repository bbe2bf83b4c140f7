//! Tasks that follow each other share the pictures of their source, and nothing of another source.

use std::fs;

use assetfs_engine::job::{OptimizeTask, Pictures, Task, TaskRunner};
use serde_json::Map;

use crate::simplify::cuboid;

#[test]
fn the_pictures_of_a_source_are_drawn_once_for_tasks_that_follow_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let write = |height: f32| {
        let text = cuboid("box", [0.0; 3], [1.0, height, 1.0], 0);
        fs::write(dir.path().join("box.obj"), text).unwrap();
    };
    let mut runner = TaskRunner::default();
    let mut similarity = |source: Option<&str>| {
        let task = Task::Optimize(OptimizeTask {
            input_dir: dir.path().to_owned(),
            files: vec!["box.obj".to_owned()],
            output_dir: dir.path().join("out"),
            config: Map::new(),
            export_name: None,
            base_name: "box".to_owned(),
            scale: 1.0,
        });
        let report = runner.run(&task, source, Pictures::Shown, &mut |_| {});
        let quality = report.unwrap().exports[0].quality.unwrap();
        quality.avg_score
    };
    write(1.0);
    assert!(similarity(Some("low")) > 99.0);
    // The pictures of another model show that none were drawn for this task.
    write(3.0);
    let of_another = similarity(Some("low"));
    assert!(of_another < 99.0, "{of_another}");
    assert!(similarity(Some("high")) > 99.0);
    write(1.0);
    assert!(
        similarity(None) > 99.0,
        "a source that is not named shares nothing"
    );
    write(3.0);
    assert!(similarity(None) > 99.0);
}

//! The recipes that keep two places equal: the nightly sync and the nightly backup.

use std::fs;

use super::{MODELS, Recipe, Workplace, write};
use crate::support::{assert_same_files, exists, names_in, read, small_chair};
use crate::{needs_fuse, needs_program};

#[test]
fn a_nightly_backup_has_everything_and_can_be_restored() {
    needs_fuse!();
    needs_program!("rsync");
    let recipe = Recipe::named("Nightly backup");
    let [script] = recipe.files(["~/bin/assets-backup"]);
    let [restore] = recipe.commands();
    let mut workplace = Workplace::new();
    write(&workplace.home("bin/assets-backup"), script);
    fs::create_dir_all(workplace.home("backup")).unwrap();
    let night = "~/bin/assets-backup";
    workplace.optimized_models();
    let source = small_chair(&workplace.work(""));
    workplace.run(
        "cp web.json ~/assets/presets/mine.json
         cp --recursive --preserve=timestamps chair ~/assets/rawmodels/
         assetfs commit ~/assets/rawmodels/chair
         assetfs wait --quiet ~/assets/rawmodels/chair",
    );
    workplace.run(night);
    assert_same_files(&source, &workplace.home("backup/rawmodels/chair"));
    let results = names_in(&workplace.home("backup/rapidmodels"));
    assert_eq!(results.len(), MODELS);
    assert!(exists(workplace.home("backup/rapidmodels/m03/m03.glb")));
    assert_eq!(
        read(workplace.home("backup/presets/mine.json")),
        read(workplace.work("web.json"))
    );
    // The next night transfers nothing.
    let said = workplace.run(&format!(
        "sed -i 's/^rsync/rsync --itemize-changes/' {night}; {night}"
    ));
    let moved: Vec<_> = said
        .lines()
        .filter(|line| line.contains('f'))
        .filter(|line| line.starts_with(['<', '>']))
        .collect();
    assert_eq!(moved, [""; 0], "{said}");
    // Without the drive the backup is not emptied.
    workplace.unmount();
    let said = workplace.fails(night, 1);
    assert!(said.contains("not mounted"), "{said}");
    assert!(exists(workplace.home("backup/rawmodels/chair")));
    workplace.mount();
    // The model is deleted, and restored from the backup with its times.
    workplace.run("rm -r ~/assets/rawmodels/chair");
    assert_eq!(workplace.totals().0, MODELS);
    workplace.run(restore);
    assert_eq!(workplace.totals().0, MODELS + 1);
    assert_same_files(&source, &workplace.drive("rawmodels/chair"));
    let time = |path| fs::metadata(path).unwrap().modified().unwrap();
    assert_eq!(
        time(workplace.drive("rawmodels/chair/chair.gltf")),
        time(source.join("chair.gltf"))
    );
}

#[test]
fn a_nightly_sync_of_thirty_models_pays_each_once_and_deletes_nothing_of_an_empty_folder() {
    needs_fuse!();
    let recipe = Recipe::named("Nightly sync");
    let [script] = recipe.files(["~/bin/assets-sync"]);
    let [preview] = recipe.commands();
    let workplace = Workplace::new();
    write(&workplace.home("bin/assets-sync"), script);
    workplace.models("../home/models");
    workplace.preset("../home/presets/web.json", 50);
    let said = workplace.run(preview);
    assert!(said.contains("30 added"), "{said}");
    assert_eq!(workplace.totals(), (0, 0));
    let night = "~/bin/assets-sync";
    workplace.run(night);
    assert_eq!(workplace.totals(), (MODELS, 2 * MODELS));
    workplace.run(night);
    assert_eq!(workplace.totals(), (MODELS, 2 * MODELS));
    workplace.model("../home/models/m03.glb", MODELS);
    workplace.run("rm ~/models/m04.glb");
    workplace.run(night);
    assert_eq!(workplace.totals(), (MODELS - 1, 2 * MODELS + 2));
    workplace.run("mv ~/models ~/aside && mkdir ~/models");
    let said = workplace.fails(night, 1);
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(workplace.totals().0, MODELS - 1);
}

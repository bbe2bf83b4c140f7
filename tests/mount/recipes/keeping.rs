//! The recipes that keep and show: the nightly backup, a model on a web page.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Recipe, Workplace, write};
use crate::support::{
    MountPoint, assert_same_files, exists, fetch, names_in, read, run, small_chair, status_of, text,
};
use crate::{needs_fuse, needs_program};

#[test]
fn a_nightly_backup_goes_both_ways_and_can_be_restored() {
    needs_fuse!();
    needs_program!("rsync");
    let recipe = Recipe::named("Nightly backup");
    let [script, service, timer] = recipe.files([
        "~/bin/assets-backup",
        "~/.config/systemd/user/assets-backup.service",
        "~/.config/systemd/user/assets-backup.timer",
    ]);
    let [restore] = recipe.commands();
    assert!(timer.contains("OnCalendar="), "{timer}");
    let mut workplace = Workplace::new();
    write(&workplace.home("bin/assets-backup"), script);
    let backup = workplace.exec(service, "ExecStart");
    fs::create_dir_all(workplace.home("models")).unwrap();
    fs::create_dir_all(workplace.home("backup")).unwrap();
    let source = small_chair(&workplace.home("models"));
    workplace.preset(50);
    workplace.run("cp web.json ~/assets/presets/mine.json");
    workplace.run(&backup);
    assert_eq!(workplace.totals(), (1, 0));
    workplace.run("cp web.json ~/assets/rawmodels/chair/optimize/ && assetfs wait ~/assets/rawmodels/chair/optimize/web.json");
    workplace.run(&backup);
    assert_same_files(&source, &workplace.home("backup/rawmodels/chair"));
    assert!(exists(workplace.home("backup/rapidmodels/chair/chair.glb")));
    assert_eq!(
        read(workplace.home("backup/presets/mine.json")),
        read(workplace.work("web.json"))
    );
    // The next night transfers nothing.
    let said = workplace.run(&format!(
        "sed -i 's/^rsync/rsync --itemize-changes/' ~/bin/assets-backup; {backup}"
    ));
    let moved: Vec<_> = said
        .lines()
        .filter(|line| line.contains('f'))
        .filter(|line| line.starts_with(['<', '>']))
        .collect();
    assert_eq!(moved, [""; 0], "{said}");
    // Without the drive the backup is not emptied.
    workplace.unmount();
    let said = workplace.fails(&backup, 1);
    assert!(said.contains("not mounted"), "{said}");
    assert!(exists(workplace.home("backup/rawmodels/chair")));
    workplace.mount();
    // The model is deleted, and restored from the backup with its times.
    workplace.run("rm -r ~/assets/rawmodels/chair");
    assert_eq!(workplace.totals().0, 0);
    workplace.run(restore);
    assert_eq!(workplace.totals().0, 1);
    assert_same_files(&source, &workplace.drive("rawmodels/chair"));
    let time = |path| fs::metadata(path).unwrap().modified().unwrap();
    assert_eq!(
        time(workplace.drive("rawmodels/chair/chair.gltf")),
        time(source.join("chair.gltf"))
    );
    // A changed model is refused, and the rest is done all the same.
    fs::write(source.join("chair.gltf"), "changed").unwrap();
    fs::create_dir(workplace.home("models/lamp")).unwrap();
    workplace.model("../home/models/lamp/lamp.glb", 2);
    let said = workplace.fails(&backup, 1);
    assert!(said.contains("Read-only file system"), "{said}");
    assert!(exists(workplace.home("backup/rawmodels/lamp/lamp.glb")));
}

#[test]
fn a_nightly_sync_of_thirty_models_pays_each_once_and_deletes_nothing_of_an_empty_folder() {
    needs_fuse!();
    const MODELS: usize = 30;
    let recipe = Recipe::named("Nightly sync");
    let [script] = recipe.files(["~/bin/assets-sync"]);
    let [preview] = recipe.commands();
    let workplace = Workplace::new();
    write(&workplace.home("bin/assets-sync"), script);
    fs::create_dir_all(workplace.home("models")).unwrap();
    fs::create_dir_all(workplace.home("presets")).unwrap();
    for number in 0..MODELS {
        workplace.model(&format!("../home/models/m{number}.glb"), number);
    }
    workplace.preset(50);
    workplace.run("cp web.json ~/presets/");
    let said = workplace.run(preview);
    assert!(said.contains("30 added"), "{said}");
    assert_eq!(workplace.totals(), (0, 0));
    let totals = || {
        let total = |path: &str| workplace.fixture.service.get(path)["meta"]["total"].clone();
        let count = |path: &str| total(path).as_u64().unwrap() as usize;
        (count("api/v2/rawmodel"), count("api/v2/rapidmodel"))
    };
    let night = "bash ~/bin/assets-sync";
    workplace.run(night);
    assert_eq!(totals(), (MODELS, 2 * MODELS));
    workplace.run(night);
    assert_eq!(totals(), (MODELS, 2 * MODELS));
    workplace.model("../home/models/m3.glb", MODELS);
    workplace.run("rm ~/models/m4.glb");
    workplace.run(night);
    assert_eq!(totals(), (MODELS - 1, 2 * MODELS + 2));
    workplace.run("mv ~/models ~/aside && mkdir ~/models");
    let said = workplace.fails(night, 1);
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(totals().0, MODELS - 1);
}

/// The home folder of one machine of a farm, with its drive.
struct Node {
    _drive: MountPoint,
    home: PathBuf,
}

/// Lines for the shell of one machine.
fn on(workplace: &Workplace, home: &Path, lines: &str) -> Command {
    let home = home.display();
    workplace.command(&format!(
        "unset ${{!ASSETFS_@}}; export HOME={home}; {lines}"
    ))
}

#[test]
fn the_machines_of_a_render_farm_read_what_they_pinned_without_the_service() {
    needs_fuse!();
    let recipe = Recipe::named("Render farm");
    let [config] = recipe.files(["~/.config/assetfs/config.toml"]);
    let [begin, end] = recipe.commands();
    let mut workplace = Workplace::new();
    workplace.optimized_chair();
    let token = workplace.work("farm.token");
    write(&token, &workplace.fixture.service.token());
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let config = config
        .replace(
            "https://assets.example.com",
            &workplace.fixture.service.base_url,
        )
        .replace("/etc/assetfs/farm.token", token.to_str().unwrap());
    let nodes = ["node-1", "node-2", "node-3"].map(|name| {
        let home = workplace.work(name);
        write(&home.join(".config/assetfs/config.toml"), &config);
        let drive = MountPoint(home.join("assets"));
        run(on(&workplace, &home, begin));
        Node {
            _drive: drive,
            home,
        }
    });
    let expected = read(workplace.drive("rapidmodels/chair/chair.glb"));
    workplace.fixture.service.stop();
    for node in &nodes {
        let model = node.home.join("assets/rapidmodels/chair/chair.glb");
        assert_eq!(read(&model), expected);
        let refused = on(&workplace, &node.home, "touch ~/assets/rawmodels/new.glb")
            .output()
            .unwrap();
        let said = text(&refused.stderr);
        assert!(said.contains("Read-only file system"), "{said}");
    }
    for node in &nodes {
        run(on(&workplace, &node.home, end));
        let held = run(on(&workplace, &node.home, "assetfs cache info ~/assets"));
        assert!(!held.contains("pinned"), "{held}");
    }
}

#[test]
fn an_embed_is_shared_and_taken_back() {
    needs_fuse!();
    needs_program!("jq");
    let recipe = Recipe::named("Sharing a model on a web page");
    let [share, end] = recipe.commands();
    let workplace = Workplace::new();
    workplace.optimized_chair();
    workplace.run(share);
    let line = String::from_utf8(read(workplace.work("chair.html"))).unwrap();
    let address = line.split('"').nth(1).unwrap();
    assert!(line.starts_with("<iframe src=\"http"), "{line}");
    let page = String::from_utf8(fetch(address)).unwrap();
    assert!(page.contains("Chair"), "{page}");
    workplace.run(end);
    assert_eq!(status_of(address, ""), 404);
    assert!(names_in(&workplace.drive("embeds")).is_empty());
}

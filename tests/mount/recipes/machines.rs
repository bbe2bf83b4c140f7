//! The recipes for several machines: two that build, and a farm that reads.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{MODELS, Recipe, Workplace, write};
use crate::needs_fuse;
use crate::support::{MountPoint, assert_same_files, read, run, text};

#[test]
fn a_second_machine_pays_nothing_for_the_same_build() {
    needs_fuse!();
    let make = Recipe::named("Make");
    let [build, _] = make.files(["assetfs.toml", "Makefile"]);
    let recipe = Recipe::named("Two machines");
    let [command] = recipe.commands();
    let workplace = Workplace::new();
    write(&workplace.work("assetfs.toml"), build);
    workplace.preset("presets/web.json", 50);
    workplace.models("models");
    workplace.run(command);
    assert_eq!(workplace.totals(), (MODELS, MODELS));
    // The second machine has the project, and a home folder and a drive of its own.
    let second = workplace.work("second");
    workplace
        .run("mkdir second second/project && cp -r assetfs.toml models presets second/project");
    let on_second = |lines: &str| {
        let home = second.display();
        let lines = format!("export HOME={home}; cd {home}/project; {lines}");
        run(workplace.command(&lines))
    };
    let _drive = MountPoint(second.join("assets"));
    on_second("assetfs mount ~/assets");
    for _ in 0..2 {
        on_second(command);
        assert_eq!(workplace.totals(), (MODELS, MODELS));
        assert_same_files(&workplace.work("dist"), &second.join("project/dist"));
    }
}

/// One machine of a render farm: its home folder, in which its drive is mounted.
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

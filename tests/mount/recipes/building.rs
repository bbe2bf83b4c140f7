//! The recipes that build on one machine: make, CI, the hot folder.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::{MODELS, Recipe, Workplace, write};
use crate::support::{exists, file_names, read, text, wait_until};
use crate::{needs_fuse, needs_program};

#[test]
fn make_goes_on_with_the_results_that_have_changed_and_nothing_else() {
    needs_fuse!();
    needs_program!("make");
    let recipe = Recipe::named("Make");
    let [build, makefile] = recipe.files(["assetfs.toml", "Makefile"]);
    let [make] = recipe.commands();
    let workplace = Workplace::new();
    write(&workplace.work("assetfs.toml"), build);
    write(&workplace.work("Makefile"), makefile);
    workplace.preset("presets/web.json", 50);
    workplace.models("models");
    // Whether what is made of the results is made again.
    let goes_on = || workplace.run(make).contains("> sizes.txt");
    let results = || file_names(&workplace.work("dist")).len();
    assert!(goes_on());
    assert_eq!(results(), MODELS);
    assert_eq!(workplace.totals(), (MODELS, MODELS));
    workplace.run("touch models/*.glb presets/web.json");
    assert!(!goes_on());
    // A changed model, then a changed preset.
    workplace.model("models/m03.glb", MODELS);
    assert!(goes_on());
    let (models, optimized) = workplace.totals();
    assert_eq!(optimized, MODELS + 1);
    workplace.preset("presets/web.json", 40);
    assert!(goes_on());
    assert_eq!(workplace.totals(), (models, optimized + MODELS));
    // Results that were taken away are there again, and are not paid again.
    fs::remove_dir_all(workplace.work("dist")).unwrap();
    assert!(goes_on());
    assert_eq!(results(), MODELS);
    assert_eq!(workplace.totals(), (models, optimized + MODELS));
    // A model that fails stops it, and leaves no result.
    fs::write(workplace.work("models/bad.glb"), "not a model").unwrap();
    workplace.fails(make, 2);
    assert_eq!(results(), MODELS);
}

/// The files of packaging/ci.
const ACTION: &str = include_str!("../../../packaging/ci/action.yml");
const GITLAB: &str = include_str!("../../../packaging/ci/gitlab.yml");

/// The line of a job that builds, without what is before it.
fn build_step<'a>(job: &'a str, before: &str) -> &'a str {
    let mut lines = job
        .lines()
        .filter_map(|line| line.trim().strip_prefix(before));
    let step = lines.find(|line| line.starts_with("assetfs build "));
    step.unwrap_or_else(|| panic!("no step builds in {job}"))
}

/// The jobs of GitHub and GitLab use the files of packaging/ci, with inputs that these have.
fn check_jobs(github: &str, gitlab: &str) {
    let has = |job: &str, line: &str| job.lines().any(|it| it.trim() == line);
    assert!(has(github, "- uses: ./.github/actions/assetfs"), "{github}");
    assert!(has(github, "options: --no-pictures") && has(ACTION, "options:"));
    assert!(has(github, "package: tools/assetfs.deb") && has(ACTION, "package:"));
    assert!(has(gitlab, "include: tools/gitlab.yml"), "{gitlab}");
    assert!(has(gitlab, "assetfs build:") && has(GITLAB, "assetfs build:"));
    assert!(has(gitlab, "ASSETFS_OPTIONS: --no-pictures"), "{gitlab}");
    assert!(has(GITLAB, "ASSETFS_OPTIONS: \"\""), "{GITLAB}");
}

#[test]
fn ci_builds_what_has_changed_and_fails_over_budget() {
    let recipe = Recipe::named("CI with budgets");
    let [build, github, gitlab] = recipe.files([
        "assetfs.toml",
        ".github/workflows/models.yml",
        ".gitlab-ci.yml",
    ]);
    let [by_hand] = recipe.commands();
    check_jobs(github, gitlab);
    let on_github = format!(
        "export GITHUB_ACTIONS=true FILE=assetfs.toml OPTIONS=--no-pictures; {}",
        build_step(ACTION, "run: ")
    );
    let on_gitlab = format!(
        "export ASSETFS_FILE=assetfs.toml ASSETFS_OPTIONS=--no-pictures; {}",
        build_step(GITLAB, "- ")
    );
    let workplace = Workplace::unmounted();
    write(&workplace.work("assetfs.toml"), build);
    workplace.preset("presets/web.json", 50);
    workplace.models("models");
    let said = workplace.run(&on_github);
    assert!(said.contains("30 results: 30 made"), "{said}");
    for again in [on_gitlab.as_str(), by_hand] {
        let said = workplace.run(again);
        assert!(said.contains("30 results: 30 up to date"), "{said}");
    }
    let report = String::from_utf8(read(workplace.work("report.xml"))).unwrap();
    assert!(report.contains(r#"tests="30" failures="0""#), "{report}");
    // A budget that nobody can meet.
    let tight = build.replace("max-triangles = 50000", "max-triangles = 0");
    write(&workplace.work("assetfs.toml"), &tight);
    let said = workplace.fails(&on_github, 1);
    assert_eq!(said.matches("::error ").count(), MODELS, "{said}");
    workplace.fails(&on_gitlab, 1);
    let report = String::from_utf8(read(workplace.work("report.xml"))).unwrap();
    assert!(report.contains(r#"tests="30" failures="30""#), "{report}");
    assert_eq!(file_names(&workplace.work("dist")).len(), MODELS);
}

#[test]
fn a_hot_folder_runs_as_a_unit_and_from_cron() {
    let recipe = Recipe::named("Hot folder");
    let [unit, cron] = recipe.files(["~/.config/systemd/user/hot-folder.service", "cron"]);
    let workplace = Workplace::unmounted();
    write(
        &workplace.home(".config/systemd/user/hot-folder.service"),
        unit,
    );
    let exec = |key: &str| workplace.exec(unit, key);
    workplace.run(&exec("ExecStartPre"));
    let mut watch = workplace.command(&format!("exec {}", exec("ExecStart")));
    let watch = watch.stderr(Stdio::piped()).spawn().unwrap();
    workplace.model("../home/hot/chair.glb", 1);
    wait_until("the result is there", || {
        exists(workplace.home("done/chair/chair.glb"))
    });
    kill_process(Pid::from_child(&watch), Signal::TERM).unwrap();
    let ended = watch.wait_with_output().unwrap();
    assert!(
        ended.status.success(),
        "{}: {}",
        ended.status,
        text(&ended.stderr)
    );
    // The line of cron has five fields before the command, and does what is new.
    workplace.model("../home/hot/lamp.glb", 2);
    let command = cron.trim().splitn(6, ' ').nth(5).unwrap();
    let before = fs::metadata(workplace.home("done/chair"))
        .unwrap()
        .modified()
        .unwrap();
    workplace.run(command);
    assert!(exists(workplace.home("done/lamp/lamp.glb")));
    let after = fs::metadata(workplace.home("done/chair"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after, "the chair was done again");
}

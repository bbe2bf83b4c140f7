//! The recipes that build: make, CI, the hot folder.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Recipe, Workplace, write};
use crate::support::{exists, file_names, read, text, wait_until};
use crate::{needs_fuse, needs_program};

#[test]
fn make_optimizes_what_has_changed_and_nothing_else() {
    needs_fuse!();
    needs_program!("make");
    let recipe = Recipe::named("Make");
    let [makefile] = recipe.files(["Makefile"]);
    let [make] = recipe.commands();
    let workplace = Workplace::new();
    write(&workplace.work("Makefile"), makefile);
    workplace.preset(50);
    workplace.model("models/chair.glb", 1);
    workplace.model("models/lamp.glb", 2);
    workplace.run(make);
    assert_eq!(
        file_names(&workplace.work("dist")),
        ["chair.glb", "lamp.glb"]
    );
    assert_eq!(workplace.totals(), (2, 2));
    let said = workplace.run(make);
    assert!(said.contains("Nothing to be done"), "{said}");
    // A changed model, then a changed preset.
    workplace.model("models/chair.glb", 3);
    let said = workplace.run(make);
    assert!(
        said.contains("dist/chair.glb") && !said.contains("dist/lamp.glb"),
        "{said}"
    );
    assert_eq!(workplace.totals().1, 3);
    let models = workplace.totals().0;
    workplace.preset(40);
    workplace.run(make);
    assert_eq!(workplace.totals(), (models, 5));
    // Results that were taken away are there again, and are not paid again.
    fs::remove_dir_all(workplace.work("dist")).unwrap();
    workplace.run(make);
    assert_eq!(
        file_names(&workplace.work("dist")),
        ["chair.glb", "lamp.glb"]
    );
    assert_eq!(workplace.totals(), (models, 5));
    // A model that fails stops it, and leaves no result.
    fs::write(
        workplace.work("models/bad.glb"),
        &read(workplace.work("models/lamp.glb"))[..100],
    )
    .unwrap();
    workplace.fails(make, 2);
    assert!(!exists(workplace.work("dist/bad.glb")));
}

/// The jobs of GitHub and GitLab run the script, with the account in the environment.
fn check_jobs(github: &str, gitlab: &str) {
    let is_run = |job: &str, line: &str| job.lines().any(|it| it.trim() == line);
    assert!(is_run(github, "- run: ci/optimize"), "{github}");
    assert!(is_run(gitlab, "- ci/optimize"), "{gitlab}");
    for job in [github, gitlab] {
        assert!(job.contains("ASSETFS_BASE_URL: https://"), "{job}");
        assert!(!job.contains('\t') && job.contains("dist"), "{job}");
    }
    assert!(
        is_run(github, "ASSETFS_TOKEN: ${{ secrets.ASSETFS_TOKEN }}"),
        "{github}"
    );
}

#[test]
fn ci_optimizes_once_for_each_content_on_every_machine() {
    needs_fuse!();
    let recipe = Recipe::named("CI");
    let [script, github, gitlab] = recipe.files([
        "ci/optimize",
        ".github/workflows/models.yml",
        ".gitlab-ci.yml",
    ]);
    let [engine] = recipe.commands();
    check_jobs(github, gitlab);
    let workplace = Workplace::unmounted();
    write(&workplace.work("ci/optimize"), script);
    workplace.preset(50);
    workplace.model("models/chair.glb", 1);
    workplace.model("models/lamp.glb", 2);
    // Nothing is done within a millisecond; the work goes on at the service, and the next run finds it.
    workplace.fails("TIMEOUT=1ms ci/optimize", 3);
    for _ in 0..2 {
        // Each runner is a new machine.
        fs::remove_dir_all(workplace.home("")).unwrap();
        fs::create_dir(workplace.home("")).unwrap();
        workplace.run("ci/optimize");
        assert_eq!(
            file_names(&workplace.work("dist")),
            ["chair.glb", "jobs.jsonl", "lamp.glb"]
        );
        assert_eq!(workplace.totals(), (2, 2));
    }
    let jobs = String::from_utf8(read(workplace.work("dist/jobs.jsonl"))).unwrap();
    for line in jobs.lines() {
        let job: Value = serde_json::from_str(line).unwrap();
        assert_eq!(job["exit"], 0, "{job}");
    }
    assert_eq!(jobs.lines().count(), 2, "{jobs}");
    fs::write(workplace.work("models/bad.glb"), "not a model").unwrap();
    workplace.fails("ci/optimize", 1);
    fs::remove_file(workplace.work("models/bad.glb")).unwrap();
    // The engine alone, without an account.
    fs::remove_dir_all(workplace.work("dist")).unwrap();
    let said = workplace.run(&format!("unset ${{!ASSETFS_@}}; {engine}"));
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(exists(workplace.work("dist/chair/chair.glb")));
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

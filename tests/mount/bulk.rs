//! Commands for many models at once: lists on standard input, search folders, few requests, and failures at the end.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::json_schema::check_lines;
use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{ASSETFS, Fixture, assetfs, fails, post_json, run, text};

/// A drive with the models `m0`, `m1` and so on.
fn drive_with(count: usize, mount: &[&str]) -> Fixture {
    let fixture = Fixture::with(&[], mount);
    let models = fixture.scratch.path().join("models");
    fs::create_dir(&models).unwrap();
    for number in 0..count {
        fs::write(models.join(format!("m{number}.glb")), numbered_glb(number)).unwrap();
    }
    run(command(&fixture, "sync --quiet").arg(&models));
    fixture
}

/// A command whose working folder is the drive.
fn command(fixture: &Fixture, words: &str) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .args(words.split(' '))
        .current_dir(fixture.root())
        .env("HOME", fixture.scratch.path())
        .env_remove("XDG_STATE_HOME");
    command
}

/// Runs it with a list on standard input.
fn fed(mut command: Command, list: &str) -> Output {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(list.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// How many calls of the mount had this method and a path that contains `part`.
fn calls(fixture: &Fixture, method: &str, part: &str) -> usize {
    let method = format!("method={method} ");
    let is_meant = |line: &&str| {
        line.contains("called the service") && line.contains(&method) && line.contains(part)
    };
    fixture.log().lines().filter(is_meant).count()
}

fn tags(asset: &Value) -> Vec<String> {
    let tags = asset["tags"].as_array().unwrap().iter();
    let names = tags.map(|tag| tag["name"].as_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|it| !it.starts_with("assetfs:")).collect();
    names.sort();
    names
}

fn paths(fixture: &Fixture, count: usize) -> Vec<PathBuf> {
    let path = |number| fixture.path(&format!("rawmodels/m{number}"));
    (0..count).map(path).collect()
}

#[test]
fn many_models_are_tagged_with_a_request_each_and_none_if_they_have_the_tags() {
    needs_fuse!();
    let fixture = drive_with(5, &["--refresh", "10m"]);
    let puts = || calls(&fixture, "PUT", "/rawmodel/");
    // The drive notes the checksum of each model as a hidden tag, some time after it is complete.
    crate::support::wait_until("the notes are written", || puts() == 5);
    let reads = calls(&fixture, "GET", "/rawmodel/");
    // Names of models, one a line.
    let named = command(&fixture, "tag --add red,oak --add old -");
    done(&fed(named, "m0\nm1\nm2\nm3\nm4\n"));
    assert_eq!(puts(), 10);
    for asset in fixture.service.assets() {
        assert_eq!(tags(&asset), ["old", "red,oak"]);
    }
    // The lines of a list; they have the tags already.
    let list = run(command(&fixture, "list --models --json"));
    assert_eq!(list.matches("red,oak").count(), 5, "{list}");
    let listed = command(&fixture, "tag --json --add old -");
    let output = fed(listed, &list);
    assert_eq!(check_lines("tag", &text(&output.stdout)).len(), 5);
    assert_eq!(puts(), 10);
    // What a search finds, and NUL at the end of paths.
    let search = fixture.path("rawmodels/.assetfs/search/old");
    run(command(&fixture, "tag --remove old").arg(search));
    assert_eq!(calls(&fixture, "DELETE", "/tags/"), 5);
    let none = command(&fixture, "tag -0 --remove red,oak --add new -");
    done(&fed(none, "rawmodels/m0\0rawmodels/m1\0"));
    let mut all: Vec<Vec<String>> = fixture.service.assets().iter().map(tags).collect();
    all.sort();
    assert_eq!(
        all,
        [
            vec!["new"],
            vec!["new"],
            vec!["red,oak"],
            vec!["red,oak"],
            vec!["red,oak"]
        ]
    );
    // To remove a tag, the drive needs its id. It found the ids by searching for the tag, without reading each model.
    let read = calls(&fixture, "GET", "/rawmodel/") - reads;
    assert!(read < 5, "{read} records were read");
}

#[test]
fn failures_are_at_the_end_and_all_other_models_are_done() {
    needs_fuse!();
    let fixture = drive_with(2, &[]);
    fs::create_dir(fixture.path("rawmodels/draft")).unwrap();
    let output = fed(
        command(&fixture, "tag --json --add red -"),
        "none\nrawmodels/draft\nm0\nrawmodels/m1\n",
    );
    assert_eq!(output.status.code(), Some(1));
    let lines = check_lines("tag", &text(&output.stdout));
    let states: Vec<&Value> = lines.iter().map(|line| &line["state"]).collect();
    assert_eq!(states, ["done", "done", "failed", "failed"], "{lines:?}");
    assert!(
        fixture
            .service
            .assets()
            .iter()
            .all(|it| tags(it) == ["red"])
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("still a draft") && said.contains("does not exist"),
        "{said}"
    );
    let wrong = fails(
        command(&fixture, "tag --add").arg(" ").arg("rawmodels/m0"),
        2,
    );
    assert!(wrong.contains("cannot be a tag"), "{wrong}");
    let output = fed(command(&fixture, "tag --add red -"), "{\"name\":\"m0\"}\n");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let output = fed(command(&fixture, "tag --add red -"), "");
    done(&output);
    assert!(text(&output.stderr).contains("nothing was named"));
}

#[test]
fn more_models_than_the_limit_are_deleted_only_if_that_is_confirmed() {
    needs_fuse!();
    let fixture = drive_with(4, &["--delete-limit", "2"]);
    let list = run(command(&fixture, "list --models --json"));
    let count = || fixture.service.assets().len();
    let output = fed(command(&fixture, "rm --dry-run --json -"), &list);
    done(&output);
    assert_eq!(check_lines("rm", &text(&output.stdout)).len(), 4);
    assert_eq!(count(), 4);
    let output = fed(command(&fixture, "rm --json -"), &list);
    assert_eq!(output.status.code(), Some(1));
    let lines = check_lines("rm", &text(&output.stdout));
    assert!(lines.iter().all(|line| line["state"] == "failed") && lines.len() == 4);
    assert!(
        text(&output.stderr).contains("4 models not deleted: this would delete 4 models"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(count(), 4);
    // A name that does not exist may be a typing error.
    let output = fed(command(&fixture, "rm --yes -"), "m0\nnone\n");
    assert_eq!((output.status.code(), count()), (Some(1), 4));
    done(&fed(command(&fixture, "rm --yes -"), &list));
    assert_eq!(count(), 0);
    assert_eq!(calls(&fixture, "POST", "/rawmodel/delete"), 1);
    assert_eq!(calls(&fixture, "DELETE", "/rawmodel/"), 0);
    // Nothing is asked for that is deleted.
    run(assetfs("unmount", fixture.root()));
    let log = fixture.log();
    let mut missing = log.lines().filter(|line| line.contains("status=404"));
    assert_eq!(missing.next(), None);
}

#[test]
fn a_preset_is_run_with_one_look_at_each_model() {
    needs_fuse!();
    const MODELS: usize = 6;
    let mut fixture = drive_with(MODELS, &[]);
    // After a new mount, the drive knows only what the list of models contains.
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&["--refresh", "10m"]);
    run(command(&fixture, "list --models"));
    let looks = || calls(&fixture, "GET", "/rawmodel/") - calls(&fixture, "GET", "/rawmodel/jobs");
    let before = looks();
    run(command(&fixture, "run --preset")
        .arg("Lossless Clean-Up")
        .args(paths(&fixture, MODELS)));
    fixture.wait("");
    assert_eq!(results(&fixture), MODELS);
    let looked = looks() - before;
    assert!(looked < 2 * MODELS, "{looked} looks at {MODELS} models");
}

#[test]
fn a_preset_runs_once_for_each_of_many_models() {
    needs_fuse!();
    let fixture = drive_with(3, &[]);
    let preset = br#"{"limits":{"faces":{"count":900}}}"#;
    fs::write(fixture.path("presets/web.json"), preset).unwrap();
    let dry = command(&fixture, "run --preset web --json --dry-run -");
    let output = fed(dry, "m0\nm1\nm2\n");
    done(&output);
    assert_eq!(check_lines("run", &text(&output.stdout)).len(), 3);
    assert!(text(&output.stderr).contains("costs 3 points"));
    assert_eq!(results(&fixture), 0);
    for _ in 0..2 {
        run(command(&fixture, "run --preset web").args(paths(&fixture, 3)));
        fixture.wait("");
        assert_eq!(results(&fixture), 3);
    }
    // The text names the preset, so a change of it makes the results stale.
    let text_of = fs::read_to_string(fixture.path("rawmodels/m0/optimize/web.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text_of).unwrap(),
        json!({ "preset": "web" })
    );
    run(command(&fixture, "run --preset")
        .arg("Lossless Clean-Up")
        .arg("rawmodels/m1"));
    fixture.wait("");
    assert_eq!(results(&fixture), 4);
    let refused = fails(command(&fixture, "run --preset web rapidmodels/m0"), 2);
    assert!(refused.contains("is not a model of"), "{refused}");
    fails(command(&fixture, "run --preset nonsense rawmodels/m0"), 2);
}

/// A text that names a preset always means the present content of that preset. So a text that has the same configuration itself
/// gets a result of its own.
#[test]
fn a_dry_run_counts_a_preset_beside_one_with_its_configuration() {
    needs_fuse!();
    let fixture = drive_with(1, &[]);
    let preset = br#"{"limits":{"faces":{"count":900}}}"#;
    fs::write(fixture.path("presets/web.json"), preset).unwrap();
    fs::write(fixture.path("presets/twin.json"), preset).unwrap();
    let own = fixture.scratch.path().join("own.json");
    fs::write(&own, preset).unwrap();
    run(command(&fixture, "run --preset web rawmodels/m0"));
    fixture.wait("");
    for preset in [own.to_str().unwrap(), "twin"] {
        for costs in [1, 0] {
            let before = results(&fixture);
            let line = format!("run --preset {preset} rawmodels/m0");
            let dry = fed(command(&fixture, &format!("{line} --dry-run")), "");
            let word = if costs == 1 { "point" } else { "points" };
            let cost = format!("costs {costs} {word}");
            assert!(
                text(&dry.stderr).contains(&cost),
                "{preset}: {}",
                text(&dry.stderr)
            );
            run(command(&fixture, &line));
            fixture.wait("");
            assert_eq!(results(&fixture), before + costs, "{preset}");
        }
    }
}

#[test]
fn only_the_model_files_of_results_can_be_pinned() {
    needs_fuse!();
    let fixture = drive_with(2, &[]);
    run(command(&fixture, "run --preset")
        .arg("Lossless Clean-Up")
        .args(paths(&fixture, 2)));
    fixture.wait("");
    let list = run(command(&fixture, "list --results --json"));
    done(&fed(command(&fixture, "pin --models-only -"), &list));
    let pins = fixture.status()["cache"]["pins"].clone();
    let pins: Vec<&str> = pins
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    assert_eq!(pins.len(), 2, "{pins:?}");
    assert!(pins.iter().all(|pin| pin.ends_with(".glb")), "{pins:?}");
    done(&fed(command(&fixture, "unpin --models-only -"), &list));
    assert_eq!(fixture.status()["cache"]["pins"], json!([]));
}

#[test]
fn many_models_are_converted() {
    needs_fuse!();
    let fixture = drive_with(2, &[]);
    let output = fed(command(&fixture, "convert --json - obj"), "m0\nm1\nnone\n");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let lines = check_lines("convert", &text(&output.stdout));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[2]["state"], "failed");
    for name in ["m0", "m1"] {
        let converted = fixture.path(&format!("rawmodels/{name}/converted"));
        assert!(fs::read_dir(converted).unwrap().count() > 0, "{name}");
    }
}

/// What `run --stale` says on standard error.
fn run_stale(fixture: &Fixture, more: &str) -> String {
    let output = command(fixture, &format!("run --stale {more}"))
        .output()
        .unwrap();
    done(&output);
    text(&output.stderr)
}

fn results(fixture: &Fixture) -> usize {
    let page = fixture.service.get("api/v2/rapidmodel?itemsPerPage=50");
    page["data"].as_array().unwrap().len()
}

/// Changes the preset `web`, and waits until the results of two models are stale.
fn change_preset(fixture: &Fixture, count: usize) {
    let preset = format!(r#"{{"limits":{{"faces":{{"count":{count}}}}}}}"#);
    fs::write(fixture.path("presets/web.json"), preset).unwrap();
    crate::support::wait_until("the results are stale", || {
        let list = run(command(fixture, "run --stale --dry-run --json"));
        check_lines("run", &list).len() == 2
    });
}

#[test]
fn stale_results_are_run_once_also_by_commands_at_the_same_time_and_after_a_kill() {
    needs_fuse!();
    // The answers of the service come late.
    let plan = "seed = 7\n[[rule]]\npath = \"/api/v2/rawmodel/optimize/*\"\nfault = { kind = \"latency\", ms = 1500 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(plan, &[]);
    fixture.mount(&[]);
    let models = fixture.scratch.path().join("models");
    fs::create_dir(&models).unwrap();
    for number in 0..2 {
        fs::write(models.join(format!("m{number}.glb")), numbered_glb(number)).unwrap();
    }
    run(command(&fixture, "sync --quiet").arg(&models));
    let preset = br#"{"limits":{"faces":{"count":900}}}"#;
    fs::write(fixture.path("presets/web.json"), preset).unwrap();
    run(command(&fixture, "run --preset web").args(paths(&fixture, 2)));
    fixture.wait("");
    assert_eq!(results(&fixture), 2);
    assert!(run_stale(&fixture, "--yes").contains("nothing is to be run again"));
    change_preset(&fixture, 800);
    // Without a terminal and an answer nothing is paid.
    let refused = fails(command(&fixture, "run --stale"), 2);
    assert!(
        refused.contains("costs 2 points: run it with --yes"),
        "{refused}"
    );
    let start = || command(&fixture, "run --stale --yes").spawn().unwrap();
    let at_once: Vec<_> = (0..3).map(|_| start()).collect();
    for mut child in at_once {
        child.wait().unwrap();
    }
    run_stale(&fixture, "--yes");
    fixture.wait("");
    assert_eq!(results(&fixture), 4);
    assert_eq!(fixture.status()["stale_results"], 0);
    assert!(run_stale(&fixture, "--yes").contains("nothing is to be run again"));
    // Killed while the first answer is on its way.
    change_preset(&fixture, 700);
    let mut child = start();
    crate::support::wait_until("a text is under way", || {
        let jobs = fixture.status()["jobs"].clone();
        jobs.as_array().is_some_and(|jobs| !jobs.is_empty())
    });
    fixture.kill_mount();
    child.wait().unwrap();
    fixture.mount(&[]);
    run_stale(&fixture, "--yes");
    run_stale(&fixture, "--yes");
    fixture.wait("");
    assert_eq!(results(&fixture), 6);
    assert!(run_stale(&fixture, "--yes").contains("nothing is to be run again"));
}

#[test]
fn lists_say_on_every_machine_who_has_made_what() {
    needs_fuse!();
    let mut fixture = drive_with(1, &["--made-by", "anna@farm3"]);
    let puts = || calls(&fixture, "PUT", "/rawmodel/");
    crate::support::wait_until("the notes are written", || puts() == 1);
    run(command(&fixture, "run --preset").args(["Lossless Clean-Up", "rawmodels/m0"]));
    run(command(&fixture, "wait --quiet"));
    assert_eq!(puts(), 1, "who has made it costs no request");
    // The API says the name of the token.
    let asset = fixture.service.assets()[0]["id"].clone();
    let url = format!(
        "{}api/v2/rawmodel/optimize/{asset}",
        fixture.service.base_url
    );
    let body = json!({ "config": { "limits": { "faces": { "percentage": 50 } } } });
    post_json(&url, &fixture.service.token(), &body);
    let second = fixture.second_machine();
    fs::write(second.root().join("rawmodels/other.glb"), numbered_glb(7)).unwrap();
    run(assetfs("commit", second.root().join("rawmodels/other.glb")));
    let machine = rustix::system::uname();
    let machine = format!("@{}", machine.nodename().to_string_lossy());
    crate::support::wait_until("the model of the second machine is noted", || {
        let models = made_by(&second.root(), "--models");
        models.len() == 2 && models[0] == "anna@farm3" && models[1].ends_with(&machine)
    });
    let mut results = made_by(&second.root(), "--results");
    results.sort();
    assert_eq!(results, ["anna@farm3", "first token"]);
    let table = run(assetfs("list", second.root()));
    assert!(table.contains("made by") && table.contains("anna@farm3"));
    // It is no tag, and no search finds it.
    let tags = fs::read_to_string(second.root().join("rawmodels/.assetfs/tags")).unwrap();
    assert_eq!(tags, "");
    let search = second.root().join("rawmodels/.assetfs/search/anna");
    assert_eq!(fs::read_dir(search).unwrap().count(), 0);
    // Nothing is noted if the settings say so.
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&["--made-by", ""]);
    fs::write(fixture.path("rawmodels/quiet.glb"), numbered_glb(8)).unwrap();
    run(assetfs("commit", fixture.path("rawmodels/quiet.glb")));
    let puts = || calls(&fixture, "PUT", "/rawmodel/");
    crate::support::wait_until("the model is noted", || puts() == 2);
    let all = fixture.service.assets();
    let quiet = all.iter().find(|asset| asset["name"] == "quiet").unwrap();
    assert!(
        !quiet["tags"].to_string().contains("assetfs:by="),
        "{quiet}"
    );
}

/// Who has made each model, or each result, as a drive lists them.
fn made_by(root: &Path, of: &str) -> Vec<String> {
    let list = run(assetfs("list --json", of).arg(root));
    let lines = check_lines("list", &list);
    let who = lines.iter().map(|line| line["made_by"].as_str());
    who.map(|who| who.unwrap_or_default().to_owned()).collect()
}

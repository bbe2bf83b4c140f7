//! `assetfs build`: results are under the names that `assetfs.toml` gives, made once, within their budgets, whatever is killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::json_schema::check_lines;
use super::square_glb::numbered_glb;
use super::support::{ASSETFS, Bench, Ran};

const TWO_PRESETS: &str =
    "models = 'models'\n[presets]\nweb = 'Lossless Clean-Up'\nphone = 'phone.json'\n";
const ONE_PRESET: &str = "models = 'models'\n[presets]\nweb = 'Lossless Clean-Up'\n";

fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .args(["build", "--no-pictures"])
        .args(args)
        .current_dir(bench.path(""));
    command.env_remove("GITHUB_ACTIONS");
    command
}

fn build(bench: &Bench, args: &[&str]) -> Ran {
    Ran(command(bench, args).output().unwrap())
}

/// What a run with `--json` says of each result: its model, its preset and what became of it.
fn built(bench: &Bench, args: &[&str], code: i32) -> Vec<(String, String, String)> {
    let ran = build(bench, &[args, &["--json"]].concat()).expect(code);
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let mut lines = check_lines("build", &ran.out());
    let sum = lines.pop().expect("the sum");
    let of = |state: &str| lines.iter().filter(|it| it["built"] == state).count();
    for state in ["up_to_date", "over_budget", "failed"] {
        assert_eq!(sum[state], of(state), "{sum}");
    }
    assert_eq!(sum["made"], of("made") + of("would_be_made"), "{sum}");
    assert!(
        sum.get("points").is_none(),
        "the engine costs nothing: {sum}"
    );
    for line in lines.iter().filter(|line| line["built"] == "failed") {
        assert_eq!(line["files"], serde_json::json!([]), "of an earlier model");
    }
    // They come in the order in which they end.
    let key = |line: &Value| (text(line, "model"), text(line, "preset"));
    lines.sort_by_key(key);
    lines
        .into_iter()
        .map(|line| {
            let (model, preset) = key(&line);
            (model, preset, text(&line, "built"))
        })
        .collect()
}

fn all(bench: &Bench, words: &str) -> bool {
    built(bench, &[], 0)
        .iter()
        .all(|(.., state)| state == words)
}

/// A folder with some models and a file for them.
fn bench(text: &str, models: usize) -> Bench {
    let bench = Bench::new();
    bench.write("assetfs.toml", text.as_bytes());
    bench.write("phone.json", br#"{"limits":{"faces":{"percentage":50}}}"#);
    for number in 0..models {
        bench.write(&format!("models/m{number}.glb"), &numbered_glb(number));
    }
    bench
}

fn visible(bench: &Bench) -> Vec<String> {
    let names = bench.names("dist").into_iter();
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn results_have_the_names_of_the_file_and_are_made_once() {
    let bench = bench(TWO_PRESETS, 2);
    assert!(all(&bench, "made"));
    assert_eq!(
        visible(&bench),
        ["m0.phone.glb", "m0.web.glb", "m1.phone.glb", "m1.web.glb"]
    );
    let inode = |name: &str| fs::metadata(bench.path("dist").join(name)).unwrap().ino();
    let before = inode("m0.web.glb");
    assert!(all(&bench, "up_to_date"));
    // Touched and copied over with the same bytes: nothing is made a second time.
    bench.write("models/m0.glb", &numbered_glb(0));
    assert!(all(&bench, "up_to_date"));
    assert_eq!(inode("m0.web.glb"), before);
    // One model, one preset and one file that is missing: only what belongs to them is made.
    bench.write("models/m0.glb", &numbered_glb(7));
    let made = |wanted: &str| -> Vec<(String, String)> {
        let all = built(&bench, &[], 0).into_iter();
        all.filter(|it| it.2 == wanted)
            .map(|it| (it.0, it.1))
            .collect()
    };
    let pair = |model: &str, preset: &str| (model.to_owned(), preset.to_owned());
    assert_eq!(
        made("made"),
        [pair("m0.glb", "phone"), pair("m0.glb", "web")]
    );
    bench.write("phone.json", br#"{"limits":{"faces":{"percentage":90}}}"#);
    assert_eq!(
        made("made"),
        [pair("m0.glb", "phone"), pair("m1.glb", "phone")]
    );
    fs::remove_file(bench.path("dist/m1.web.glb")).unwrap();
    fs::write(bench.path("dist/m0.web.glb"), "changed by somebody").unwrap();
    assert_eq!(made("made"), [pair("m0.glb", "web"), pair("m1.glb", "web")]);
    assert!(all(&bench, "up_to_date"));
}

/// The lines together are longer than the buffer of a pipe, so the build waits until the test reads them.
#[test]
fn each_result_has_its_line_of_json_as_soon_as_it_is_made() {
    let bench = bench(ONE_PRESET, 400);
    let mut child = command(&bench, &["--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().expect("a line").unwrap();
    let made = visible(&bench).len();
    let all = [first].into_iter().chain(lines.map(Result::unwrap));
    let all: Vec<String> = all.collect();
    assert!(child.wait().unwrap().success());
    assert!(
        all.join("\n").len() > (1 << 16) + (1 << 13),
        "too few bytes"
    );
    let lines = check_lines("build", &all.join("\n"));
    let models: BTreeSet<&str> = lines.iter().filter_map(|it| it["model"].as_str()).collect();
    assert_eq!(
        (models.len(), lines.len()),
        (400, 401),
        "one line each, and the sum"
    );
    assert!(made < 400, "all were made before the first line");
}

#[test]
fn a_result_is_made_again_if_its_bytes_were_changed_and_not_if_its_time_was() {
    let bench = bench(ONE_PRESET, 1);
    assert!(all(&bench, "made"));
    let path = bench.path("dist/m0.web.glb");
    let bytes = fs::read(&path).unwrap();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let write = |bytes: &[u8], time: SystemTime| {
        fs::write(&path, bytes).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    };
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    write(&other, time);
    assert!(all(&bench, "made"));
    assert_eq!(fs::read(&path).unwrap(), bytes);
    write(&bytes, SystemTime::UNIX_EPOCH);
    assert!(all(&bench, "up_to_date"));
}

#[test]
fn a_name_may_have_folders_and_a_gltf_keeps_its_files_together() {
    let text = "models = 'models'\nname = '{preset}/{model}.{ext}'\n[presets]\nall = 'gltf.json'\n";
    let bench = bench(text, 0);
    bench.write(
        "gltf.json",
        br#"{"compressionAndExport":{"fileExports":[{"fileType":"gltf"},{"fileType":"glb"}]}}"#,
    );
    bench.write("models/a.glb", &numbered_glb(1));
    assert!(all(&bench, "made"));
    let names = bench.names("dist/all");
    assert!(
        names.contains(&"a.gltf".to_owned()) && names.contains(&"a.glb".to_owned()),
        "{names:?}"
    );
    let text = fs::read_to_string(bench.path("dist/all/a.gltf")).unwrap();
    let gltf: Value = serde_json::from_str(&text).unwrap();
    for buffer in gltf["buffers"].as_array().unwrap() {
        let uri = buffer["uri"].as_str().unwrap();
        assert!(
            uri.starts_with("data:") || bench.path("dist/all").join(uri).exists(),
            "{uri}"
        );
    }
}

#[test]
fn what_is_gone_is_removed_when_asked_and_files_of_others_never() {
    let bench = bench(ONE_PRESET, 2);
    bench.write("dist/m1.web.glb", b"mine");
    bench.write("dist/notes.txt", b"mine");
    let ran = build(&bench, &[]).expect(1);
    assert!(ran.out().contains("no build has made it"), "{}", ran.out());
    assert_eq!(fs::read(bench.path("dist/m1.web.glb")).unwrap(), b"mine");
    fs::remove_file(bench.path("dist/m1.web.glb")).unwrap();
    // It was made; only its place was taken.
    let states = built(&bench, &[], 0);
    assert!(states.iter().all(|it| it.2 == "up_to_date"), "{states:?}");
    fs::remove_file(bench.path("models/m0.glb")).unwrap();
    let ran = build(&bench, &[]).expect(0);
    assert!(
        ran.err()
            .contains("1 result of models or presets that are gone"),
        "{}",
        ran.err()
    );
    assert_eq!(visible(&bench), ["m0.web.glb", "m1.web.glb", "notes.txt"]);
    for more in [&["-n"][..], &[]] {
        let ran = build(&bench, &[&["--prune", "--json"], more].concat()).expect(0);
        let lines = check_lines("build", &ran.out());
        let removed = lines.iter().filter(|line| line["built"] == "removed");
        let removed: Vec<&Value> = removed.collect();
        assert_eq!(removed.len(), 1, "{}", ran.out());
        assert!(
            removed[0]["path"]
                .as_str()
                .unwrap()
                .ends_with("dist/m0.web.glb")
        );
        assert_eq!(removed[0]["dry_run"], !more.is_empty());
    }
    assert_eq!(visible(&bench), ["m1.web.glb", "notes.txt"]);
}

#[test]
fn a_build_without_models_fails_and_prunes_nothing_unless_that_is_allowed() {
    let bench = bench(ONE_PRESET, 3);
    build(&bench, &[]).expect(0);
    let all = ["m0.web.glb", "m1.web.glb", "m2.web.glb"];
    for gone in ["m0", "m1"] {
        fs::remove_file(bench.path(&format!("models/{gone}.glb"))).unwrap();
    }
    let ran = build(&bench, &["--prune"]).expect(1);
    assert!(ran.err().contains("more than half"), "{}", ran.err());
    assert_eq!(visible(&bench), all);
    fs::remove_file(bench.path("models/m2.glb")).unwrap();
    let ran = build(&bench, &["--prune"]).expect(1);
    assert!(ran.err().contains("--max-prune 3"), "{}", ran.err());
    let ran = build(&bench, &["--prune", "--max-prune", "2"]).expect(1);
    assert!(ran.err().contains("allows 2"), "{}", ran.err());
    assert_eq!(visible(&bench), all);
    build(&bench, &[]).expect(1);
    build(&bench, &["--prune", "--max-prune", "3"]).expect(1);
    assert_eq!(visible(&bench), [""; 0]);
}

#[test]
fn a_model_that_comes_back_after_its_results_were_removed_is_built_again() {
    let bench = bench(ONE_PRESET, 3);
    build(&bench, &[]).expect(0);
    fs::rename(bench.path("models/m0.glb"), bench.path("m0.glb")).unwrap();
    build(&bench, &["--prune"]).expect(0);
    assert_eq!(visible(&bench), ["m1.web.glb", "m2.web.glb"]);
    fs::rename(bench.path("m0.glb"), bench.path("models/m0.glb")).unwrap();
    build(&bench, &[]).expect(0);
    assert_eq!(visible(&bench), ["m0.web.glb", "m1.web.glb", "m2.web.glb"]);
}

#[test]
fn the_home_folder_can_be_named_in_every_path() {
    let text = "models = '~/models'\nout = '~/dist'\n[presets]\nweb = '~/phone.json'\n";
    let bench = bench(text, 1);
    let mut command = command(&bench, &[]);
    Ran(command.env("HOME", bench.path("")).output().unwrap()).expect(0);
    assert_eq!(visible(&bench), ["m0.web.glb"]);
}

#[test]
fn the_folder_of_results_may_be_among_the_models_and_is_none() {
    let text = "models = 'models'\nout = 'models/dist'\n[presets]\nweb = 'Lossless Clean-Up'\n";
    let bench = bench(text, 1);
    for state in ["made", "up_to_date"] {
        let states = built(&bench, &[], 0);
        let expected = ("m0.glb".to_owned(), "web".to_owned(), state.to_owned());
        assert_eq!(states, [expected]);
    }
}

#[test]
fn models_whose_results_would_be_one_file_are_refused_before_anything_is_made() {
    let bench = bench(ONE_PRESET, 1);
    bench.write("models/m0.stl", b"solid a\nendsolid a\n");
    let ran = build(&bench, &[]).expect(2);
    assert!(ran.err().contains("would be one result"), "{}", ran.err());
    assert_eq!(visible(&bench), Vec::<String>::new());
    fs::remove_file(bench.path("models/m0.stl")).unwrap();
    // Characters that a file cannot have everywhere become `_` in the names of results.
    bench.write("models/m:0.glb", &numbered_glb(1));
    bench.write("models/m_0.glb", &numbered_glb(2));
    let ran = build(&bench, &[]).expect(2);
    let said = ran.err();
    assert!(said.contains("would be one result"), "{said}");
    assert!(
        said.contains("m:0.glb (web)") && said.contains("dist/m_0.web"),
        "{said}"
    );
    assert_eq!(visible(&bench), Vec::<String>::new());
}

#[test]
fn results_that_differ_in_case_only_are_refused_because_they_are_one_file_elsewhere() {
    let bench = bench(ONE_PRESET, 0);
    for (name, number) in [("Chair", 1), ("chair", 2), ("Öl", 3), ("öl", 4)] {
        bench.write(&format!("models/{name}.glb"), &numbered_glb(number));
    }
    for (refused, removed) in [("chair", "Chair"), ("öl", "Öl")] {
        let said = build(&bench, &[]).expect(2).err();
        assert!(said.contains("one result on Windows and macOS"), "{said}");
        let both = [
            format!("{refused}.glb (web)"),
            format!("dist/{removed}.web"),
        ];
        assert!(both.iter().all(|it| said.contains(it)), "{said}");
        assert_eq!(visible(&bench), Vec::<String>::new());
        fs::remove_file(bench.path(&format!("models/{removed}.glb"))).unwrap();
    }
    assert!(all(&bench, "made"));
    // So do presets of one model.
    let text = "models = 'models'\n[presets]\nweb = 'Lossless Clean-Up'\nWeb = 'phone.json'\n";
    bench.write("assetfs.toml", text.as_bytes());
    let said = build(&bench, &[]).expect(2).err();
    assert!(
        said.contains("chair.glb (Web)") && said.contains("chair.glb (web)"),
        "{said}"
    );
}

#[test]
fn a_template_that_makes_two_results_one_file_is_refused() {
    let text = "models = 'models'\nname = '{preset}-{model}.{ext}'\n[presets]\na = 'Lossless Clean-Up'\n\
                a-b = 'phone.json'\n";
    let bench = bench(text, 0);
    bench.write("models/b-c.glb", &numbered_glb(1));
    bench.write("models/c.glb", &numbered_glb(2));
    let ran = build(&bench, &[]).expect(2);
    assert!(
        ran.err().contains("a-b-c: rename one of them"),
        "{}",
        ran.err()
    );
    assert_eq!(visible(&bench), Vec::<String>::new());
}

#[test]
fn a_result_over_its_budget_is_kept_and_fails_the_build() {
    let bench = bench(ONE_PRESET, 1);
    let junit = bench.path("report.xml");
    let args = [
        "--max-bytes",
        "10",
        "--max-triangles",
        "1",
        "--junit",
        "report.xml",
    ];
    let ran = Ran(command(&bench, &args)
        .env("GITHUB_ACTIONS", "true")
        .output()
        .unwrap())
    .expect(1);
    assert!(
        ran.out().contains("more than the budget of 10 B"),
        "{}",
        ran.out()
    );
    assert!(
        ran.err()
            .contains("::error title=m0.glb (web) over budget::"),
        "{}",
        ran.err()
    );
    assert!(
        fs::read_to_string(&junit)
            .unwrap()
            .contains("failures=\"1\"")
    );
    assert_eq!(visible(&bench), ["m0.web.glb"]);
    // The same result within its budget is not made again.
    assert!(all(&bench, "up_to_date"));
    let ran = build(&bench, &["--min-similarity", "50"]).expect(1);
    assert!(
        ran.out().contains("its similarity was not measured"),
        "{}",
        ran.out()
    );
}

/// What servers for CI see of a command that fails before any result: no line, no test or no annotation would be a success.
#[test]
fn a_build_that_fails_as_a_whole_says_so_in_every_report() {
    let one = "models = 'models'\n[presets]\nweb = 'Lossless Clean-Up'\n";
    let cases = [
        (one, 1, "there are no models"),
        (
            "models = 'none'\n[presets]\nweb = 'Lossless Clean-Up'\n",
            2,
            "is no folder",
        ),
        ("models = 'models'\n", 2, "presets"),
    ];
    for (text, code, wanted) in cases {
        let bench = bench(text, 0);
        fs::create_dir_all(bench.path("models")).unwrap();
        let mut command = command(&bench, &["--json", "--junit", "r.xml"]);
        let ran = Ran(command.env("GITHUB_ACTIONS", "true").output().unwrap());
        let ran = ran.expect(code);
        let lines = check_lines("build", &ran.out());
        assert_eq!(lines.len(), 1, "{text}: {}", ran.out());
        let reason = lines[0]["reason"].as_str().unwrap();
        assert_eq!(
            (&lines[0]["state"], &lines[0]["exit"]),
            (&"failed".into(), &code.into())
        );
        assert!(reason.contains(wanted), "{reason}");
        assert!(
            ran.err().contains("::error title=assetfs build failed::"),
            "{}",
            ran.err()
        );
        let junit = fs::read_to_string(bench.path("r.xml")).unwrap();
        assert!(
            junit.contains("<testcase classname=\"assetfs build\""),
            "{junit}"
        );
        assert!(
            junit.contains("errors=\"1\"") && junit.contains("<error message="),
            "{junit}"
        );
    }
}

/// Also beside a failure of the build itself: both are said.
#[test]
fn a_report_that_cannot_be_written_fails_the_build_and_is_said_whatever_else_failed() {
    for (models, failures) in [(1, 1), (0, 2)] {
        let bench = bench(ONE_PRESET, models);
        fs::create_dir_all(bench.path("models")).unwrap();
        let mut command = command(&bench, &["--json", "--junit", "none/r.xml"]);
        let ran = Ran(command.env("GITHUB_ACTIONS", "true").output().unwrap()).expect(1);
        let lines = check_lines("build", &ran.out());
        let reasons: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["reason"].as_str())
            .collect();
        let said = ran.err();
        assert_eq!(reasons.len(), failures, "{said}");
        assert!(reasons[0].contains("cannot write none/r.xml"), "{said}");
        for reason in &reasons {
            assert!(said.contains(&format!("failed::{reason}")), "{said}");
            assert!(said.contains(&format!("assetfs: {reason}")), "{said}");
        }
        if models == 0 {
            assert!(reasons[1].contains("there are no models"), "{said}");
        }
    }
}

#[test]
fn a_broken_model_fails_alone_and_is_tried_again() {
    let bench = bench(ONE_PRESET, 1);
    let mut broken = numbered_glb(3);
    broken[30] = 0;
    bench.write("models/broken.glb", &broken);
    for _ in 0..2 {
        let states = built(&bench, &[], 1);
        assert_eq!(states[0].2, "failed", "{states:?}");
    }
    assert_eq!(visible(&bench), ["m0.web.glb"]);
    bench.write("models/broken.glb", &numbered_glb(3));
    assert_eq!(built(&bench, &[], 0)[0].2, "made");
    bench.write("models/broken.glb", &broken);
    assert_eq!(built(&bench, &[], 1)[0].2, "failed");
    assert_eq!(
        visible(&bench),
        ["broken.web.glb", "m0.web.glb"],
        "the earlier one stays"
    );
}

#[test]
fn a_folder_that_is_missing_or_cannot_be_is_refused_with_a_sentence() {
    let bench = bench(ONE_PRESET, 1);
    for (text, why) in [
        (
            "models = 'none'\n[presets]\nweb = 'Web Viewer'\n",
            "is no folder",
        ),
        (
            "models = 'models'\nout = '.'\n[presets]\nweb = 'Web Viewer'\n",
            "taken for new models",
        ),
        (
            "models = 'models'\n[presets]\nweb = 'Web Veiwer'\n",
            "did you mean",
        ),
        (
            "models = 'models'\n[presets]\nweb = 'none.json'\n",
            "none.json",
        ),
    ] {
        bench.write("assetfs.toml", text.as_bytes());
        let ran = build(&bench, &[]).expect(2);
        assert!(ran.err().contains(why), "{text}: {}", ran.err());
    }
    let ran = build(&bench, &["elsewhere.toml"]).expect(2);
    assert!(ran.err().contains("assetfs build --help"), "{}", ran.err());
}

#[test]
fn a_build_that_is_killed_anywhere_goes_on_and_makes_nothing_twice() {
    let bench = bench(TWO_PRESETS, 12);
    let mut rounds = 0;
    // Killed again and again, later each time, until one run comes to its end.
    for millis in (50..).step_by(150) {
        rounds += 1;
        let mut child = command(&bench, &["--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_millis(millis);
        let mut ended = None;
        while Instant::now() < until && ended.is_none() {
            ended = child.try_wait().unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        if ended.is_some_and(|status| status.success()) {
            break;
        }
        let _ = child.kill();
        child.wait().unwrap();
        assert!(rounds < 200, "it never ends");
    }
    assert_eq!(visible(&bench).len(), 24);
    assert!(all(&bench, "up_to_date"));
}

#[test]
fn two_builds_of_one_folder_do_not_run_at_once() {
    let bench = bench(ONE_PRESET, 1);
    fs::create_dir_all(bench.path("dist/.assetfs-build")).unwrap();
    let _lock = assetfs::durable::DirLock::acquire(bench.path("dist/.assetfs-build")).unwrap();
    let ran = build(&bench, &[]).expect(1);
    assert!(
        ran.err().contains("another `assetfs build` writes to"),
        "{}",
        ran.err()
    );
}

/// Everything below a folder, with its bytes.
fn snapshot(bench: &Bench) -> String {
    let listed = Command::new("sh")
        .args([
            "-c",
            "find . -printf '%p %T@\\n' | sort; find . -type f -exec md5sum {} + | sort",
        ])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

/// What a dry run would make, and why; it changes nothing.
fn would_be_made(bench: &Bench) -> Vec<(String, String)> {
    let before = snapshot(bench);
    let ran = build(bench, &["--dry-run", "--json"]).expect(0);
    assert_eq!(snapshot(bench), before, "a dry run changes nothing");
    let lines = check_lines("build", &ran.out());
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let made = lines.iter().filter(|line| line["built"] == "would_be_made");
    let made = made.map(|line| {
        (
            format!("{} {}", text(line, "model"), text(line, "preset")),
            text(line, "why"),
        )
    });
    let made: Vec<(String, String)> = made.collect();
    let sum = lines.last().unwrap();
    assert_eq!(
        (&sum["dry_run"], &sum["made"]),
        (&true.into(), &made.len().into())
    );
    made
}

#[test]
fn a_dry_run_says_what_would_be_made_and_why_and_is_right() {
    let bench = bench(TWO_PRESETS, 2);
    let all = |why: &str| {
        ["m0.glb phone", "m0.glb web", "m1.glb phone", "m1.glb web"]
            .map(|name| (name.to_owned(), why.to_owned()))
            .to_vec()
    };
    let one = |name: &str, why: &str| vec![(name.to_owned(), why.to_owned())];
    assert_eq!(would_be_made(&bench), all("new"));
    assert!(!bench.path("dist").exists());
    build(&bench, &[]).expect(0);
    assert_eq!(would_be_made(&bench), []);
    // Touched, but not changed.
    bench.write("models/m0.glb", &numbered_glb(0));
    assert_eq!(would_be_made(&bench), []);
    fs::remove_file(bench.path("dist/m0.web.glb")).unwrap();
    assert_eq!(would_be_made(&bench), one("m0.glb web", "files_changed"));
    build(&bench, &[]).expect(0);
    bench.write("phone.json", br#"{"limits":{"faces":{"percentage":60}}}"#);
    let phones = ["m0.glb phone", "m1.glb phone"].map(|name| one(name, "preset_changed"));
    assert_eq!(would_be_made(&bench), phones.concat());
    build(&bench, &[]).expect(0);
    bench.write("models/m1.glb", &numbered_glb(7));
    let changed = ["m1.glb phone", "m1.glb web"].map(|name| one(name, "model_changed"));
    assert_eq!(would_be_made(&bench), changed.concat());
    let said = build(&bench, &["-n"]).expect(0).out();
    for line in [
        "m1.glb (web): would be made: the model has changed",
        "4 results: 2 up to date, 2 would be made",
    ] {
        assert!(said.contains(line), "{said}");
    }
    // What is gone is named, and what would be removed.
    fs::remove_file(bench.path("models/m1.glb")).unwrap();
    assert!(
        build(&bench, &["-n"])
            .expect(0)
            .err()
            .contains("2 results of models or presets that are gone")
    );
    let said = build(&bench, &["-n", "--prune"]).expect(0).out();
    assert!(
        said.contains("would be removed: ") && said.contains("dist/m1.web.glb"),
        "{said}"
    );
    assert!(bench.path("dist/m1.web.glb").exists());
    // What fails is tried again, and is said to be.
    bench.write("models/m2.glb", b"no model");
    build(&bench, &[]).expect(1);
    let failed = ["m2.glb phone", "m2.glb web"].map(|name| one(name, "failed_before"));
    assert_eq!(would_be_made(&bench), failed.concat());
}

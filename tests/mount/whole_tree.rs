//! The rest of the tree with shell tools, and its commands.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, assetfs, exists, post_json, run, shell, text};

const TEN_PERCENT: &str = r#"{"schema":"2.5","limits":{"faces":{"percentage":10}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;

fn optimized(fixture: &Fixture) -> String {
    fixture.add_chair();
    let preset = fixture.scratch.path().join("small.json");
    fs::write(&preset, TEN_PERCENT).unwrap();
    shell(
        &fixture.root(),
        &format!("cp {} rawmodels/chair/optimize/", preset.display()),
    );
    run(assetfs(
        "wait",
        fixture.path("rawmodels/chair/optimize/small.json"),
    ));
    shell(&fixture.root(), "ls rapidmodels").trim().to_owned()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..300 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} within 30 s");
}

#[test]
fn a_nested_folder_looks_the_same_on_another_machine() {
    needs_fuse!();
    let fixture = Fixture::new();
    let local = fixture.scratch.path().join("nested");
    fs::create_dir_all(local.join("maps/deep")).unwrap();
    fs::write(
        local.join("cube.gltf"),
        br#"{"asset":{"version":"2.0"},"scenes":[{"nodes":[]}],"scene":0}"#,
    )
    .unwrap();
    let noise: Vec<u8> = (0..300_000_u32)
        .map(|at| (at.wrapping_mul(at) >> 9) as u8)
        .collect();
    fs::write(local.join("maps/deep/noise.bin"), noise).unwrap();
    fs::write(local.join("maps/with space.txt"), b"hello").unwrap();
    shell(
        &local,
        "find . -type f | xargs -d '\\n' touch -d '2020-02-02 02:02:02 UTC'",
    );
    let copy = format!("cp -a {} rawmodels/", local.display());
    shell(&fixture.root(), &copy);
    run(assetfs("commit", fixture.path("rawmodels/nested")));
    until("the import ends", || {
        let status = run(assetfs("status --json", fixture.root()));
        !status.contains("rawmodels/nested")
    });
    let other = fixture.second_machine();
    let listing = "cd rawmodels/nested && find . -type f -printf '%P %s %T@\\n' | sort";
    let here = shell(&fixture.root(), listing);
    let there = shell(&other.root(), listing);
    assert_eq!(there, here);
    assert!(
        there.contains("maps/deep/noise.bin 300000 1580608922"),
        "{there}"
    );
    let compare = format!(
        "diff -r {} rawmodels/nested | grep -v '^Only in rawmodels/nested: ' || true",
        local.display()
    );
    assert_eq!(shell(&other.root(), &compare), "");
}

#[test]
fn the_rest_of_the_tree_is_reached_by_shell_tools() {
    needs_fuse!();
    let fixture = Fixture::new();
    let rapid = optimized(&fixture);
    let root = fixture.root();
    let report = shell(&root, &format!("cat rapidmodels/{rapid}/qc/glb.json"));
    assert!(report.contains("\"format\":\"glb\""), "{report}");
    shell(
        &root,
        &format!(
            "echo '{{}}' > /tmp/$$.json; cp /tmp/$$.json rapidmodels/{rapid}/embeds/viewer.json; rm /tmp/$$.json"
        ),
    );
    until("the embed is there", || {
        exists(fixture.path("embeds/viewer.html"))
    });
    shell(&root, "test -s embeds/viewer.html && rm embeds/viewer.html");
    assert_eq!(shell(&root, "ls embeds"), "");
    shell(
        &root,
        "setfattr -n user.xdg.tags -v 'oak,new' rawmodels/chair",
    );
    let found = shell(&root, "ls rawmodels/.assetfs/search/oak");
    assert_eq!(found.trim(), "chair");
    run(Command::new(ASSETFS)
        .arg("convert")
        .arg(fixture.path("rawmodels/chair"))
        .arg("obj"));
    until("the conversion is there", || {
        exists(fixture.path("rawmodels/chair/converted"))
    });
    let zip = fixture.scratch.path().join("source.zip");
    fs::copy(fixture.path("rawmodels/chair/.assetfs/source.zip"), &zip).unwrap();
    let members = zip::ZipArchive::new(fs::File::open(&zip).unwrap())
        .unwrap()
        .len();
    assert!(members >= 3, "{members} files");
    let ends = shell(
        &root,
        "find . >/dev/null && du -s . >/dev/null && tar c . | wc -c && ls -lR >/dev/null",
    );
    assert!(ends.trim().parse::<u64>().unwrap() > 10_000, "{ends}");
}

#[test]
fn list_shows_drafts_models_and_results_with_states_and_bytes() {
    needs_fuse!();
    let fixture = Fixture::new();
    let rapid = optimized(&fixture);
    let root = fixture.root();
    shell(
        &root,
        "mkdir rawmodels/later && setfattr -n user.xdg.tags -v oak rawmodels/chair",
    );
    let lines = |options: &str| -> Vec<serde_json::Value> {
        let text = run(assetfs(options, &root));
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("JSON in each line")
    };
    let models = lines("list --json --models");
    let words: Vec<_> = models
        .iter()
        .map(|it| (it["path"].as_str(), it["state"].as_str()))
        .collect();
    assert_eq!(
        words,
        [
            (Some("rawmodels/chair"), Some("complete")),
            (Some("rawmodels/later"), Some("draft"))
        ]
    );
    let id = shell(
        &root,
        "getfattr --only-values -n user.assetfs.id rawmodels/chair",
    );
    assert_eq!(models[0]["id"].to_string(), id.trim());
    assert_eq!(models[0]["tags"], serde_json::json!(["oak"]));
    assert!(models[0]["bytes"].as_u64() > Some(1000), "{}", models[0]);
    assert!(models[1].get("id").is_none(), "{}", models[1]);

    let results = lines("list --json --results");
    let [result] = results.as_slice() else {
        panic!("{results:?}")
    };
    assert_eq!(result["path"], format!("rapidmodels/{rapid}"));
    assert_eq!(result["schema"], 1);
    assert_eq!(result["state"], "done");
    assert_eq!(result["source"], "chair");
    assert_eq!(result["source_id"].to_string(), id.trim());
    assert_eq!(result["formats"], serde_json::json!(["glb"]));
    let size = shell(&root, &format!("stat -c %s rapidmodels/{rapid}/*.glb"));
    assert_eq!(result["bytes"].to_string(), size.trim());
    let table = run(assetfs("list", &root));
    assert!(
        table.contains("complete") && table.contains("small"),
        "{table}"
    );
    // The column "text" has names of texts, which need not be those of presets.
    let head = table.lines().find(|line| line.starts_with("results"));
    let columns: Vec<&str> = head.unwrap().split_whitespace().collect();
    assert!(
        columns.ends_with(&["source", "text", "stale", "warnings", "made", "by"]),
        "{table}"
    );
}

#[test]
fn every_tool_that_reads_a_tree_ends_well_on_the_whole_drive() {
    needs_fuse!();
    let fixture = Fixture::new();
    let rapid = optimized(&fixture);
    let root = fixture.root();
    let out = fixture.scratch.path().join("out");
    fs::create_dir(&out).unwrap();
    for (program, line) in [
        ("find", "find . -ls"),
        ("du", "du -a ."),
        ("ls", "ls -lR ."),
        ("grep", "grep -rq glTF ."),
        ("grep", "grep -Rc nothing-says-this . || test $? = 1"),
        ("tar", "tar cf $OUT/drive.tar ."),
        ("zip", "zip -qr $OUT/drive.zip ."),
        ("rsync", "rsync -a . $OUT/rsync"),
        ("rsync", "rsync -aL . $OUT/rsync-links"),
        ("cp", "cp -a . $OUT/cp-a"),
        ("cp", "cp -rL . $OUT/cp-rL"),
    ] {
        if !crate::skip::has_program_or_skips(program) {
            continue;
        }
        let line = format!("OUT={}; timeout 100 {line} >/dev/null", out.display());
        shell(&root, &line);
    }
    // Links were replaced by their targets, and files are complete.
    let compare = format!(
        "cmp cp-rL/rawmodels/chair/optimize/small/chair.glb cp-a/rapidmodels/{rapid}/chair.glb"
    );
    shell(&out, &compare);
    let same = format!("diff -r --no-dereference cp-a {}", root.display());
    shell(&out, &same);
}

#[test]
fn rm_deletes_the_texts_of_jobs() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let text = fixture.path("rawmodels/chair/optimize/web.json");
    fs::write(&text, r#"{"preset": "Lossless Clean-Up"}"#).unwrap();
    fixture.wait("rawmodels/chair/optimize/web.json");
    run(assetfs("rm", &text));
    assert!(!text.exists());
    let results = fixture.service.get("api/v2/rapidmodel?itemsPerPage=50");
    assert_eq!(
        results["data"].as_array().unwrap().len(),
        1,
        "its result stays"
    );
}

#[test]
fn rm_deletes_many_models_with_few_requests_and_keeps_to_the_limit() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--delete-limit", "2"]);
    let rapid = optimized(&fixture);
    let refused = assetfs("rm", fixture.path("rawmodels/chair/analysis"))
        .output()
        .unwrap();
    assert_eq!(
        refused.status.code(),
        Some(2),
        "only whole models are deleted"
    );
    let remove = |rapid: &str| {
        let rapid = fixture.path(&format!("rapidmodels/{rapid}"));
        let paths = [fixture.path("rawmodels/chair"), rapid];
        Command::new(ASSETFS).arg("rm").args(paths).output()
    };
    let mistyped = remove("none").unwrap();
    let said = text(&mistyped.stderr);
    assert_eq!(mistyped.status.code(), Some(1), "{said}");
    assert!(
        said.contains("nothing was deleted") && said.contains("none"),
        "{said}"
    );
    assert_eq!(fixture.service.assets().len(), 1);
    // A line for each name that is wrong.
    let wrong = ["rapidmodels/none", "rapidmodels/nobody"].map(|name| fixture.path(name));
    let lines = Command::new(ASSETFS)
        .args(["rm", "--json"])
        .args(&wrong)
        .arg(fixture.path("rawmodels/chair"))
        .output()
        .unwrap();
    let lines: Vec<serde_json::Value> = text(&lines.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named: Vec<&str> = lines
        .iter()
        .map(|line| line["path"].as_str().unwrap())
        .collect();
    assert_eq!(named, wrong.each_ref().map(|path| path.to_str().unwrap()));
    assert_eq!(fixture.service.assets().len(), 1);
    let output = remove(&rapid).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(fixture.service.assets().is_empty());
    assert_eq!(
        shell(&fixture.root(), "ls rawmodels rapidmodels | grep -v :"),
        "\n"
    );
}

#[test]
fn tokens_and_the_account_are_managed_from_the_command_line() {
    let fixture = Fixture::unmounted(&[]);
    let config = fixture.scratch.path().join("config");
    let in_home = |args: &[&str]| {
        let mut command = Command::new(ASSETFS);
        command
            .args(args)
            .args(["--base-url", &fixture.service.base_url])
            .env("XDG_CONFIG_HOME", &config)
            .env("ASSETFS_KEYRING", "off")
            .env_remove("ASSETFS_TOKEN");
        command
    };
    let with_token = |args: &[&str]| {
        let mut command = in_home(args);
        command.arg("--token-file").arg(&fixture.service.token_file);
        command
    };
    let out = fixture.scratch.path().join("studio.token");
    run(with_token(&["token", "create", "studio"])
        .arg("--out")
        .arg(&out));
    let made = fs::read_to_string(&out).unwrap();
    let listed = run(with_token(&["token", "list"]));
    assert!(listed.contains("studio"), "{listed}");
    assert!(!listed.contains(made.split('|').nth(1).unwrap()));
    let who = run(with_token(&["whoami", "--json"]));
    assert!(who.contains("\"points\":"), "{who}");

    let account: serde_json::Value = serde_json::from_slice(
        &fs::read(fixture.scratch.path().join("service/account.json")).unwrap(),
    )
    .unwrap();
    let (email, password) = (&account["email"], &account["password"]);
    let login = format!(
        "printf '%s\\n' '{}' | ASSETFS_KEYRING=off XDG_CONFIG_HOME={} {ASSETFS} login --base-url {} --email {}",
        password.as_str().unwrap(),
        config.display(),
        fixture.service.base_url,
        email.as_str().unwrap(),
    );
    let said = shell(fixture.scratch.path(), &login);
    assert!(said.contains("Signed in"), "{said}");
    // The saved token is found by the address alone.
    run(in_home(&["whoami"]));
    run(in_home(&["logout"]));
    let refused = in_home(&["whoami"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));

    let zip = fixture.scratch.path().join("p.zip");
    let json = fixture.scratch.path().join("p.json");
    fs::write(&json, TEN_PERCENT).unwrap();
    run(with_token(&["preset", "export"])
        .arg(&json)
        .arg("--out")
        .arg(&zip));
    assert_eq!(&fs::read(&zip).unwrap()[..2], b"PK");
    let hooks = run(with_token(&[
        "webhook",
        "add",
        "https://hooks.example/secret/path",
    ]));
    assert!(hooks.contains("is registered"), "{hooks}");
    let listed = run(with_token(&["webhook", "list"]));
    assert!(
        listed.contains("https://hooks.example") && !listed.contains("secret"),
        "{listed}"
    );
    run(with_token(&["webhook", "test", "1"]));

    let api = |path: &str| format!("{}api/v2/{path}", fixture.service.base_url);
    let preset = serde_json::json!({"name": "shop", "config": {"limits": {"faces": {"count": 5}}}});
    post_json(&api("preset/create"), &fixture.service.token(), &preset);
    let shown = run(with_token(&["preset", "show", "shop"]));
    assert!(shown.contains("\"count\": 5"), "{shown}");

    let end = format!(
        "printf '%s\\n' '{}' | {ASSETFS} account delete --base-url {} --token-file {}",
        password.as_str().unwrap(),
        fixture.service.base_url,
        fixture.service.token_file.display(),
    );
    shell(fixture.scratch.path(), &end);
    let refused = with_token(&["whoami"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "the account is gone");
}

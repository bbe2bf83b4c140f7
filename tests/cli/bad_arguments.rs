//! Commands with bad arguments, settings and files: each fails with a sentence for people, without the words of a parser
//! or of the operating system's error numbers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::skip::{has_program_or_skips, skipped};
use super::support::{ASSETFS, Bench, Ran};

/// Words that belong into no message: error numbers, and what parsers say about their own types.
const RAW_WORDS: &[&str] = &[
    "os error",
    "invalid digit",
    "invalid float",
    "number too large",
    "invalid socket address",
    "without a base",
    "empty host",
    "invalid port",
    "expected u",
    "expected a boolean",
    "EOF while",
    "panicked",
];

/// Runs a command line (words separated by blanks) in a folder without any configuration.
fn ran(bench: &Bench, line: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(ASSETFS);
    command
        .args(line.split_whitespace())
        .current_dir(bench.path(""))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", bench.path(""))
        .env("ASSETFS_KEYRING", "off")
        .envs(variables.iter().copied());
    Ran(command.output().unwrap())
}

/// The message of a command that fails; it is for people.
#[track_caller]
fn refusal(bench: &Bench, line: &str, variables: &[(&str, &str)]) -> String {
    let ran = ran(bench, line, variables);
    let message = ran.err();
    assert!(
        [1, 2].contains(&ran.code()),
        "{line}: {} {message}",
        ran.code()
    );
    for raw in RAW_WORDS {
        assert!(!message.contains(raw), "{line}: {message}");
    }
    assert!(message.len() > 20, "{line}: {message}");
    message
}

#[test]
fn a_bad_argument_is_named_with_what_to_write_instead() {
    let bench = Bench::with_chair();
    for (line, expected) in [
        ("serve --workers many", "a whole number"),
        ("serve --workers 99999999999999999999999", "too large"),
        ("serve --workers -1", "-1"),
        ("serve --listen here", "like 127.0.0.1:8080"),
        ("serve --public-url here", "like https://assets.example.com"),
        (
            "serve --public-url http:///a",
            "like https://assets.example.com",
        ),
        (
            "serve --public-url http:a",
            "like https://assets.example.com",
        ),
        (
            "serve --public-url http://x?a=b",
            "like https://assets.example.com",
        ),
        (
            "serve --files-url http:///a",
            "like https://assets.example.com",
        ),
        (
            "serve --files-url ftp://x",
            "like https://assets.example.com",
        ),
        ("serve --quota much", "is not a size"),
        ("mount mnt --local --delete-limit few", "a whole number"),
        ("mount mnt --local --cache-size much", "is not a size"),
        ("mount mnt --local --settle soon", "is not a time"),
        ("mount mnt --local --limit-up 1K", "the lowest limit is 64K"),
        (
            "mount mnt --local --webhook-listen here",
            "like 127.0.0.1:8080",
        ),
        (
            "mount mnt --local --webhook-listen 127.0.0.1:0 --webhook-url http:///a",
            "like https://assets.example.com",
        ),
        ("mount mnt --local -o delete_limit=few", "a whole number"),
        (
            "mount mnt --base-url banana",
            "like https://assets.example.com",
        ),
        (
            "mount mnt --base-url https:///a",
            "like https://assets.example.com",
        ),
        (
            "demo --base-url https:a --token-file t",
            "like https://assets.example.com",
        ),
        ("scale chair much", "a number, like 0.01"),
        ("cancel --orphan first", "a whole number"),
        ("token delete first", "a whole number"),
        ("webhook delete first", "a whole number"),
        ("webhook test first", "a whole number"),
        (
            "thumbnail chair/chair.gltf out.png --size big",
            "a whole number",
        ),
        ("thumbnail chair/chair.gltf out.png --size 5", "16"),
        ("watch chair --preset web.json --out done --jobs 0", "0"),
        (
            "watch chair --preset web.json --out done --jobs many",
            "a whole number",
        ),
        ("wait --timeout soon", "is not a time"),
        ("unmount --timeout soon", "is not a time"),
        (
            "optimize chair out --preset web.json --memory much",
            "is not a size",
        ),
    ] {
        let message = refusal(&bench, line, &[]);
        assert!(message.contains(expected), "{line}: {message}");
    }
    let message = refusal(
        &bench,
        "mount mnt --local",
        &[("ASSETFS_DELETE_LIMIT", "few")],
    );
    assert!(message.contains("--delete-limit"), "{message}");
}

#[test]
fn a_missing_or_unreadable_file_is_named_without_error_numbers() {
    let bench = Bench::with_chair();
    bench.write("file", b"x");
    bench.write("half.json", b"{");
    bench.write("list.json", b"[1]");
    bench.write("wrong.json", br#"{"limits": 5}"#);
    for line in [
        "optimize nowhere.glb out --preset nowhere.json",
        "optimize chair out --preset nowhere.json",
        "optimize chair out --preset half.json",
        "optimize chair out --preset list.json",
        "optimize chair out --preset wrong.json",
        "optimize chair file/out --preset wrong.json",
        "thumbnail nowhere.glb out.png",
        "thumbnail chair/chair.gltf nowhere/out.png",
        "thumbnail file out.png",
        "watch nowhere --preset web.json --out done",
        "watch file --preset web.json --out done",
        "watch chair --preset nowhere.json --out done",
        "watch chair --preset half.json --out done",
        "check nowhere chair",
        "check chair nowhere",
        "commit nowhere",
        "cancel nowhere",
        "retry nowhere",
        "run nowhere",
        "why nowhere",
        "wait nowhere",
        "status nowhere",
        "events nowhere",
        "unmount nowhere",
        "allow-delete nowhere",
        "pin nowhere",
        "unpin nowhere",
        "cache verify nowhere",
        "convert nowhere obj",
        "scale nowhere 2",
        "rm nowhere",
        "replace nowhere.glb nowhere",
        "recover take nowhere out",
        "preset show nowhere.json",
        "mount file --local",
        "mount mnt --token-file nowhere --base-url https://127.0.0.1:1",
        "mount mnt --local --state-dir file",
        "mount mnt --local --data-dir file/data",
        "mount mnt --profile nowhere",
        "serve --data file",
        "serve --chaos nowhere.json",
        "serve --chaos half.json",
        "serve --listen 192.0.2.1:80",
        "man --dir file",
        "login --base-url https://127.0.0.1:1",
        "whoami --base-url https://127.0.0.1:1",
    ] {
        refusal(&bench, line, &[]);
    }
}

#[test]
fn a_wrong_key_of_the_configuration_is_named() {
    let bench = Bench::new();
    for (text, expected) in [
        ("delete_limit = \"few\"", "delete_limit"),
        ("delete_limit = -1", "delete_limit"),
        ("read_only = \"yes\"", "read_only"),
        ("cache_size = \"much\"", "cache_size"),
        ("webhook_listen = \"here\"", "webhook_listen"),
        ("settle = true", "settle"),
        ("cache_sise = 1", "cache_sise"),
        ("[profiles.studio]\nread_only = \"yes\"", "read_only"),
        ("base_url = ", "config.toml"),
    ] {
        bench.write(".config/assetfs/config.toml", text.as_bytes());
        let message = refusal(&bench, "mount mnt --local", &[]);
        assert!(
            message.contains(expected) && message.contains("config.toml"),
            "{text}: {message}"
        );
    }
}

#[test]
fn of_two_accounts_with_kept_files_of_one_time_none_is_taken_by_that_name() {
    let bench = Bench::new();
    let name = "recovered-2026-11-22T02-30-00Z";
    for account in ["one", "other"] {
        let file = format!("state/{account}/outbox/{name}/files/{account}.glb");
        bench.write(&file, account.as_bytes());
    }
    let state = bench.path("state");
    let place = [("ASSETFS_STATE_DIR", state.to_str().unwrap())];
    let said = refusal(&bench, &format!("recover take {name} out"), &place);
    for account in ["one", "other"] {
        let path = state.join(account).join("outbox").join(name);
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        assert!(path.exists());
    }
    let path = state.join("other/outbox").join(name);
    let taken = ran(
        &bench,
        &format!("recover take {} out", path.display()),
        &place,
    );
    assert_eq!(taken.code(), 0, "{}", taken.err());
    assert_eq!(bench.names("out"), ["other.glb"]);
    assert!(!path.exists());
}

/// Root reads every file, so another user runs the program.
#[test]
fn a_secret_of_another_user_is_refused_with_whose_file_it_is() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can run a program as another user");
        return;
    }
    if !has_program_or_skips("setpriv") {
        return;
    }
    let bench = Bench::with_chair();
    for (path, mode) in [
        ("", 0o777),
        ("password", 0o600),
        ("key.pem", 0o600),
        ("aws", 0o600),
        ("token", 0o600),
    ] {
        if !path.is_empty() {
            bench.write(path, b"secret");
        }
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(bench.path(path), mode).unwrap();
    }
    let files = "s3://bucket?endpoint=http://127.0.0.1:9";
    let records = "postgres://a@127.0.0.1:9/a";
    for (line, variable) in [
        (
            format!(
                "serve --data d --records {records} --records-password-file password --files {files}"
            ),
            ("AWS_ACCESS_KEY_ID", "key"),
        ),
        (
            format!("serve --data d --files {files}"),
            ("AWS_SHARED_CREDENTIALS_FILE", "aws"),
        ),
        (
            "serve --listen 127.0.0.1:0 --data d --tls-cert key.pem --tls-key key.pem".to_owned(),
            ("LANG", "C"),
        ),
        (
            "whoami --base-url http://127.0.0.1:9 --token-file token".to_owned(),
            ("LANG", "C"),
        ),
    ] {
        let ran = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", ASSETFS])
            .args(line.split_whitespace())
            .current_dir(bench.path(""))
            .env("HOME", bench.path(""))
            .env("ASSETFS_KEYRING", "off")
            .env_remove("AWS_ACCESS_KEY_ID")
            .envs([variable])
            .output()
            .unwrap();
        let ran = Ran(ran);
        let message = ran.err();
        if message.contains("failed to execute") {
            skipped("the folder of the program is closed to other users");
            return;
        }
        assert_ne!(ran.code(), 0, "{line}");
        let both = "belongs to the user 0 while this process runs as 65534";
        assert!(message.contains(both), "{line}: {message}");
        assert!(!message.contains("os error"), "{line}: {message}");
    }
}

#[test]
fn page_says_that_the_service_belongs_to_another_user() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can run a program as another user");
        return;
    }
    if !has_program_or_skips("setpriv") {
        return;
    }
    let bench = Bench::with_chair();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(bench.path(""), open).unwrap();
    for (folder, mode) in [("closed", 0o700), ("open", 0o755)] {
        bench.write(&format!("{folder}/token"), b"1|secret");
        let token = bench.path(&format!("{folder}/token"));
        fs::set_permissions(token, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(bench.path(folder), fs::Permissions::from_mode(mode)).unwrap();
        let ran = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", ASSETFS])
            .args(["page", "--data-dir", folder])
            .current_dir(bench.path(""))
            .env("HOME", bench.path(""))
            .output()
            .unwrap();
        let message = Ran(ran).err();
        if message.contains("failed to execute") {
            skipped("the folder of the program is closed to other users");
            return;
        }
        assert!(message.contains("is closed to this user"), "{message}");
    }
}

#[test]
fn options_for_the_jobs_of_a_local_service_are_refused_for_another() {
    let home = tempfile::tempdir().unwrap();
    let mount = |args: &[&str]| {
        let mut command = Command::new(super::support::ASSETFS);
        command.arg("mount").arg(home.path().join("drive"));
        command.env("HOME", home.path()).env("ASSETFS_TOKEN", "1|x");
        super::support::Ran(command.args(args).output().unwrap()).expect(2)
    };
    let remote = ["--base-url", "http://127.0.0.1:9"];
    for args in [&["--workers", "2"][..], &["--no-pictures"]] {
        let said = mount(&[&remote, args].concat()).err();
        assert!(said.contains("use them with --local"), "{said}");
    }
    let said = mount(&["--local", "--workers", "0"]).err();
    assert!(said.contains("at least 1"), "{said}");
}

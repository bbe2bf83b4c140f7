//! `scripts/setup` on a machine that lacks something: it says all that is missing at once, and exactly what to type.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

const SETUP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/setup");

/// A machine of a user without sudo, with these programs besides the usual ones. Returns what setup says.
fn setup_with(programs: &[(&str, &str)]) -> String {
    let home = tempfile::tempdir().unwrap();
    run_setup(home.path(), &[], programs)
}

/// The same with this home folder and these arguments.
fn run_setup(home: &Path, arguments: &[&str], programs: &[(&str, &str)]) -> String {
    let bin = tempfile::tempdir().unwrap();
    for usual in [
        "bash", "chmod", "env", "sed", "sh", "dirname", "sort", "head", "mkdir",
    ] {
        let paths = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(usual));
        let path = paths.iter().find(|path| path.exists()).unwrap();
        symlink(path, bin.path().join(usual)).unwrap();
    }
    for (name, says) in programs.iter().chain(&[("id", "1000"), ("apt-get", "")]) {
        let path = bin.path().join(name);
        fs::write(&path, format!("#!/usr/bin/env bash\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = Command::new(bin.path().join("bash"))
        .arg(SETUP)
        .args(arguments)
        .env("PATH", bin.path())
        .env("HOME", home)
        .env_remove("CARGO_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn setup_says_how_to_get_rust() {
    let said = setup_with(&[]);
    assert!(
        said.contains("sudo apt-get install -y curl ca-certificates\n"),
        "{said}"
    );
    assert!(said.contains("https://sh.rustup.rs"), "{said}");
    let old = ("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)");
    let said = setup_with(&[old]);
    assert!(said.contains("Rust 1.63.0 is too old"), "{said}");
    assert!(said.contains("https://sh.rustup.rs"), "{said}");
    let said = setup_with(&[old, ("rustup", "")]);
    assert!(said.contains("  rustup update stable"), "{said}");
}

/// What `curl` brings: an installer that puts a `cargo` into the home folder and tells its arguments.
const INSTALLER: &str = r##"cd "$HOME"; mkdir -p .cargo/bin
printf "#!/usr/bin/env bash\necho cargo 1.100.0\n" > .cargo/bin/cargo
chmod +x .cargo/bin/cargo
echo "installer $*"
"##;

#[test]
fn setup_installs_rust_where_it_may_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let programs = [
        ("curl", INSTALLER),
        ("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)"),
    ];
    let said = run_setup(home.path(), &["--yes"], &programs);
    assert!(said.contains("installer -y"), "{said}");
    assert!(home.path().join(".cargo/bin/cargo").exists(), "{said}");
    // It has gone on to what is missing besides.
    assert!(
        said.contains("sudo apt-get install -y fuse3 g++ gcc\n"),
        "{said}"
    );
    let again = run_setup(home.path(), &[], &[]);
    assert!(!again.contains("Rust"), "{again}");
}

#[test]
fn setup_names_everything_that_is_missing_in_one_command() {
    let rust = ("cargo", "cargo 1.100.0 (0000000 2027-01-01)");
    let said = setup_with(&[rust]);
    assert!(
        said.contains("sudo apt-get install -y fuse3 g++ gcc\n"),
        "{said}"
    );
    let said = setup_with(&[rust, ("cc", ""), ("c++", "")]);
    assert!(said.contains("sudo apt-get install -y fuse3\n"), "{said}");
}

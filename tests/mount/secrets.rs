//! The token of a mounted drive and where it must not be.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Fixture, assetfs, run};

/// The files below a folder that contain the text. What cannot be read, such as a socket, is left out.
fn files_with(dir: &Path, secret: &[u8]) -> Vec<PathBuf> {
    let mut folders = vec![dir.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && contains(&fs::read(&path).unwrap(), secret) {
                found.push(path);
            }
        }
    }
    found
}

fn contains(bytes: &[u8], secret: &[u8]) -> bool {
    bytes.windows(secret.len()).any(|part| part == secret)
}

#[test]
fn the_token_is_in_no_argument_variable_core_dump_log_or_state_of_a_drive() {
    let fixture = Fixture::new();
    fixture.copy_chair();
    run(assetfs("commit", fixture.path("rawmodels/chair")));
    let pid = fixture.pid();
    let token = fixture.service.token();
    let secret = token.split_once('|').expect("`id|secret`").1.as_bytes();

    let mut looked_at = 0;
    for entry in fs::read_dir("/proc").unwrap().map(Result::unwrap) {
        // Other processes may end meanwhile.
        let of = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let arguments = of("cmdline");
        let is_of_drive = entry.file_name() == *pid.to_string() || parent(&of("stat")) == Some(pid);
        if contains(&arguments, b"assetfs") {
            assert!(!contains(&arguments, secret), "{:?}", entry.path());
        }
        if is_of_drive {
            looked_at += 1;
            assert!(!contains(&of("environ"), secret), "{:?}", entry.path());
        }
    }
    assert!(looked_at >= 1, "the drive was not found");
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let core: Vec<&str> = core.unwrap().split_whitespace().collect();
    assert_eq!(core[4..6], ["0", "0"]);

    let scratch = fixture.scratch.path().to_owned();
    // The folder of the service has its own file of the token, and the mount point shows what the tests of its
    // contents look at.
    for place in ["state", "cache"] {
        assert_eq!(
            files_with(&scratch.join(place), secret),
            [""; 0].map(PathBuf::from)
        );
    }
    assert!(!contains(fixture.log().as_bytes(), secret));
    assert!(!contains(fixture.service.log().as_bytes(), secret));
    let shown = fs::read(fixture.path(".assetfs/status.json")).unwrap();
    assert!(!contains(&shown, secret));
}

/// The parent in `/proc/PID/stat`: the second field after the name, which is in parentheses.
fn parent(stat: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(stat);
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

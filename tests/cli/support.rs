//! A folder for one test, a model in it, and the command.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use assetfs_engine::sample::{ChairDetail, write_chair_with};

/// The binary under test.
pub const ASSETFS: &str = env!("CARGO_BIN_EXE_assetfs");

/// A folder that is removed after the test.
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder `chair` with a small chair of glTF, buffer and textures.
    pub fn with_chair() -> Bench {
        let bench = Bench::new();
        write_chair_with(&bench.path("chair"), ChairDetail::Small).unwrap();
        bench
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// `assetfs optimize` from within the folder.
    pub fn optimize(&self, args: &[&str]) -> Ran {
        self.optimize_with(args, &[])
    }

    /// The same with environment variables.
    pub fn optimize_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(ASSETFS);
        command
            .arg("optimize")
            .args(args)
            .envs(variables.iter().copied())
            .current_dir(self.dir.path());
        Ran(command.output().unwrap())
    }

    /// The names in a folder, sorted; none if it is missing.
    pub fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// The result of a command.
pub struct Ran(pub Output);

impl Ran {
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// Panics with the output unless the exit code is `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code(), code, "{}\n{}", self.out(), self.err());
        self
    }
}

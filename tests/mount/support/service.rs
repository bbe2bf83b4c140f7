//! A process of `assetfs serve`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::ASSETFS;
use super::http::get_json;
use super::shell::run;
use crate::json_schema::check_lines;

/// A process of `assetfs serve`; drop ends it.
pub struct ServeProcess {
    child: Child,
    listen: String,
    log: PathBuf,
    pub base_url: String,
    pub token_file: PathBuf,
}

/// The message of a service that listens.
fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("it speaks");
    line
}

impl ServeProcess {
    pub fn start(data: &Path, extra: &[&str]) -> ServeProcess {
        ServeProcess::start_with(data, extra, &[])
    }

    /// The same, with extra environment variables.
    pub fn start_with(data: &Path, extra: &[&str], variables: &[(&str, String)]) -> ServeProcess {
        let log = data.with_extension("log");
        let mut child = Command::new(ASSETFS)
            .args(["serve", "--json"])
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(extra)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("assetfs serve starts");
        let said = check_lines("serve", &first_line(&mut child)).remove(0);
        ServeProcess {
            child,
            log,
            listen: said["listen"].as_str().expect("an address").to_owned(),
            base_url: said["base_url"].as_str().expect("a URL").to_owned(),
            token_file: said["token_file"].as_str().expect("a path").into(),
        }
    }

    /// The real address of the public URL.
    pub fn listens_on(&self) -> String {
        self.listen.clone()
    }

    pub fn token(&self) -> String {
        fs::read_to_string(&self.token_file)
            .expect("the token file is there")
            .trim()
            .to_owned()
    }

    /// Makes it read its plan of faults again.
    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    /// From now on the kernel accepts connections, and nothing answers.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// It goes on after [`ServeProcess::pause`].
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        run(Command::new("kill").args([signal, &self.child.id().to_string()]));
    }

    /// Kills it; its data stay.
    pub fn stop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }

    /// Starts it again at the same address.
    pub fn start_again(&mut self) {
        self.start_again_with(&[]);
    }

    /// The same, with more arguments.
    pub fn start_again_with(&mut self, extra: &[&str]) {
        let mut child = Command::new(ASSETFS)
            .args(["serve", "--json", "--no-pictures", "--listen", &self.listen])
            .arg("--data")
            .arg(self.token_file.parent().expect("its folder"))
            .args(extra)
            .stdout(Stdio::piped())
            .spawn()
            .expect("assetfs serve starts");
        first_line(&mut child);
        self.child = child;
    }

    /// Its log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    /// The number of planned faults that happened so far.
    pub fn chaos_fired(&self) -> usize {
        self.log()
            .lines()
            .filter(|line| line.contains("chaos"))
            .count()
    }

    /// One GET of the API, as curl would do it.
    pub fn get(&self, path: &str) -> Value {
        get_json(&format!("http://{}/{path}", self.listen), &self.token())
    }

    /// The base assets of the account.
    pub fn assets(&self) -> Vec<Value> {
        self.get("api/v2/rawmodel?itemsPerPage=50")["data"]
            .as_array()
            .expect("a list")
            .clone()
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

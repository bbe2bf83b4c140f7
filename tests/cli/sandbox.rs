//! A worker process, and the programs that it starts, reach nothing but the files of their task.
//!
//! The program that reads CAD files is replaced by a script that tries what is forbidden and reports what succeeded.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assetfs::service::Protection;
use serde_json::{Value, json};

use super::skip::skipped;
use super::square_glb::numbered_glb;
use super::support::{ASSETFS, Bench};

/// What a worker that a model took over could try. The names of what succeeded are printed in brackets.
const ATTEMPTS: &str = r#"#!/usr/bin/python3
import os, socket, sys

neighbour, port, outside, input_dir = NEIGHBOUR, PORT, "OUTSIDE", "INPUT"
done = []

def attempt(name, action):
    try:
        action()
        done.append(name)
    except OSError:
        pass

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def write(path):
    with open(path, "w") as file:
        file.write("x")
    os.remove(path)

def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port))

attempt("environment", lambda: read(f"/proc/{neighbour}/environ"))
attempt("memory", lambda: open(f"/proc/{neighbour}/mem", "rb"))
attempt("arguments", lambda: read(f"/proc/{neighbour}/cmdline"))
attempt("signal", lambda: os.kill(neighbour, 0))
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", port), 5))
attempt("udp", udp)
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX).connect(outside + "/socket"))
attempt("read outside", lambda: read(outside + "/secret"))
attempt("list outside", lambda: os.listdir(outside))
attempt("read system file", lambda: read("/etc/passwd"))
attempt("write outside", lambda: write(outside + "/written"))
attempt("write temporary", lambda: write(f"/tmp/assetfs-sandbox-{os.getpid()}"))
attempt("write input", lambda: write(input_dir + "/written"))
attempt("read input", lambda: read(input_dir + "/part.step"))
attempt("write output", lambda: write("written"))
print("[" + ",".join(done) + "]", file=sys.stderr)
sys.exit(1)
"#;

/// The attempts that a worker needs.
const NEEDED: [&str; 2] = ["read input", "write output"];

/// A process with a secret in its environment, which ends with the test.
struct Neighbour(Child);

impl Neighbour {
    fn start() -> Neighbour {
        let mut command = Command::new("sleep");
        command.arg("600").env("ASSETFS_TOKEN", "1|secret");
        Neighbour(command.spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Installs the script as `assetfs-cad`.
fn install(bench: &Bench, neighbour: &Neighbour, port: u16) -> PathBuf {
    let outside = bench.path("outside");
    let text = ATTEMPTS
        .replace("NEIGHBOUR", &neighbour.0.id().to_string())
        .replace("PORT", &port.to_string())
        .replace("OUTSIDE", outside.to_str().unwrap())
        .replace("INPUT", bench.path("in").to_str().unwrap());
    let program = bench.write("bin/assetfs-cad", text.as_bytes());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// The attempts that succeeded.
fn succeeded(text: &str) -> Vec<&str> {
    let (_, rest) = text.split_once('[').unwrap_or_else(|| panic!("{text}"));
    let (list, _) = rest.split_once(']').unwrap_or_else(|| panic!("{text}"));
    list.split(',').collect()
}

/// The last line of a worker that finds the script as `assetfs-cad`.
fn last_line(args: &[&str], input: &str, programs: &Path) -> Value {
    let path = std::env::var("PATH").unwrap();
    let mut worker = Command::new(ASSETFS)
        .args(["engine-worker", "--no-pictures"])
        .args(args)
        .env_clear()
        .env("PATH", format!("{}:{path}", programs.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = worker.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = worker.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

#[test]
fn a_model_that_takes_over_its_worker_reaches_no_secret_no_network_and_no_other_file() {
    // One in another folder could not be started in the sandbox.
    if !Path::new("/usr/bin/python3").is_file() {
        return skipped("python3 is not installed");
    }
    if !Protection::missing().is_empty() {
        return skipped("this kernel has no landlock or no seccomp");
    }
    let bench = Bench::new();
    bench.write("in/part.step", b"ISO-10303-21;\nEND-ISO-10303-21;\n");
    bench.write("outside/secret", b"secret");
    fs::create_dir(bench.path("out")).unwrap();
    let _socket = UnixListener::bind(bench.path("outside/socket")).unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let neighbour = Neighbour::start();
    let script = install(&bench, &neighbour, server.local_addr().unwrap().port());

    // Without the sandbox every attempt succeeds, so that its refusals below have a cause.
    let free = Command::new(&script)
        .current_dir(bench.path("out"))
        .output()
        .unwrap();
    let free = String::from_utf8(free.stderr).unwrap();
    assert_eq!(
        succeeded(&free).len(),
        ATTEMPTS.matches("\nattempt(").count(),
        "{free}"
    );

    let task = json!({
        "task": "analyse", "input_dir": bench.path("in"), "files": ["part.step"], "output_dir": bench.path("out"),
    });
    let programs = script.parent().unwrap();
    let said = last_line(&[], &task.to_string(), programs);
    let error = said["error"].as_str().expect("an error");
    assert_eq!(succeeded(error), NEEDED, "{error}");
    // The same for a worker that is kept for other tasks, and has done one.
    bench.write("in/a.glb", &numbered_glb(1));
    let folders = json!({ "input_dir": bench.path("in"), "output_dir": bench.path("out") });
    let done = json!({
        "task": "analyse", "input_dir": bench.path("in"), "files": ["a.glb"], "output_dir": bench.path("out/a"),
    });
    let input = format!("{folders}\n{}\n", json!({ "task": done, "source": null }));
    let said = last_line(&["--kept"], &input, programs);
    assert!(said.get("report").is_some(), "{said}");
    let input = format!("{input}{}\n", json!({ "task": task, "source": null }));
    let said = last_line(&["--kept"], &input, programs);
    let error = said["error"].as_str().expect("an error");
    assert_eq!(succeeded(error), NEEDED, "{error}");
}

#[test]
fn a_model_that_is_a_link_in_a_folder_of_the_user_is_read() {
    let bench = Bench::new();
    let preset = r#"{"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;
    bench.write("p.json", preset.as_bytes());
    fs::create_dir_all(bench.path("library")).unwrap();
    fs::create_dir_all(bench.path("linked")).unwrap();
    fs::write(
        bench.path("library/square.obj"),
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../library/square.obj", bench.path("linked/square.obj")).unwrap();
    bench
        .optimize(&["linked", "out", "--preset", "p.json", "--no-pictures"])
        .expect(0);
}

/// What `assetfs doctor` prints, started by a thread after `before`.
fn doctor_after(before: impl FnOnce() + Send, programs: Option<&Path>) -> String {
    let path = std::env::var("PATH").unwrap();
    let path = match programs {
        Some(programs) => format!("{}:{path}", programs.display()),
        None => path,
    };
    let output = std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            before();
            let mut doctor = Command::new(ASSETFS);
            doctor.arg("doctor").env("PATH", path).output().unwrap()
        });
        started.join().unwrap()
    });
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a system call fail for this thread and the processes that it starts.
fn refuse(call: i64) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let filter = SeccompFilter::new(
        [(call, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(1),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

#[test]
fn doctor_says_that_the_system_refuses_the_sandbox() {
    if !Protection::missing().is_empty() {
        return skipped("this kernel has no landlock or no seccomp");
    }
    /// `landlock_restrict_self`, which has the same number on all architectures.
    const RESTRICT_SELF: i64 = 446;
    let refused = "this system refuses landlock";
    let said = doctor_after(|| refuse(RESTRICT_SELF), None);
    assert!(said.contains(refused), "{said}");
    assert!(
        said.lines()
            .last()
            .unwrap()
            .contains("mounted on this machine"),
        "{said}"
    );
    let said = doctor_after(|| (), None);
    assert!(!said.contains(refused), "{said}");
}

#[test]
fn doctor_says_that_the_cad_reader_cannot_be_used_in_the_sandbox() {
    if !Protection::missing().is_empty() {
        return skipped("this kernel has no landlock or no seccomp");
    }
    let bench = Bench::new();
    let own = |path: &str, content: &[u8]| {
        let program = bench.write(path, content);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    };
    let shell = own("elsewhere/sh", &fs::read("/bin/sh").unwrap());
    for (interpreter, expected) in [
        (Path::new("/bin/sh"), "files are read by"),
        (&shell, "does not start in the sandbox"),
    ] {
        let text = format!("#!{}\nexit 2\n", interpreter.display());
        let program = own("bin/assetfs-cad", text.as_bytes());
        // Outside of the sandbox both start.
        assert_eq!(Command::new(&program).status().unwrap().code(), Some(2));
        let said = doctor_after(|| (), program.parent());
        assert!(said.contains(expected), "{said}");
    }
}

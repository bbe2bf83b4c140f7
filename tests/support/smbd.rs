//! A real Samba of its own that shares a mounted drive, by the configuration that `assetfs samba` writes. Needs root.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs::{self, File};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What it needs, and its client.
pub const PROGRAMS: [&str; 4] = ["smbd", "smbclient", "smbpasswd", "testparm"];

/// A running Samba server. Dropping it kills the server and the processes that it started for connections.
pub struct Smbd {
    process: Child,
    pub conf: PathBuf,
    pub port: u16,
}

impl Drop for Smbd {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.process.wait();
    }
}

impl Smbd {
    /// Shares the drive at `root` as `studio` for the user root with the password `secret`.
    pub fn share(root: &Path, dir: &Path) -> Smbd {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let output = Command::new(env!("CARGO_BIN_EXE_assetfs"))
            .args(["samba", "--user", "root", "--share", "studio", "--port"])
            .arg(port.to_string())
            .arg("--private")
            .args([dir, root])
            .output()
            .expect("assetfs starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains(&format!(":{port}/studio")),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let conf = dir.join("smb.conf");
        let own = fs::read_to_string(&conf).expect("a configuration");
        let local = "[global]\ninterfaces = lo\nbind interfaces only = yes\n";
        fs::write(&conf, own.replacen("[global]\n", local, 1)).expect("a configuration");
        add_user(&conf);
        let log = File::create(dir.join("said")).expect("a file");
        let process = Command::new("smbd")
            .args(["--foreground", "--no-process-group", "--configfile"])
            .arg(&conf)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("smbd starts");
        let smbd = Smbd {
            process,
            conf,
            port,
        };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return smbd;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("smbd does not listen within 60 s");
    }
}

fn add_user(conf: &Path) {
    let mut passwords = Command::new("smbpasswd")
        .arg("-c")
        .arg(conf)
        .args(["-s", "-a", "root"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("smbpasswd starts");
    let mut typed = passwords.stdin.take().expect("a pipe");
    typed.write_all(b"secret\nsecret\n").expect("it reads");
    drop(typed);
    assert!(passwords.wait().expect("it ends").success());
}

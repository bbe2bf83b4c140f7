//! A mounted drive as a network folder: the calls go through a real Samba, as file managers make them.
//!
//! Samba follows links itself, and an SMB client cannot read extended attributes of Linux, so both are read from the mount.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::io::Errno;
use serde_json::{Value, json};

use super::calls::{Calls, Kind, Position};
use super::kernel::KernelFront;
use super::{Front, drive, picture};
use crate::history::{ActorId, Op};
use crate::model::{Model, Outcome};
use crate::smbd::Smbd;
use crate::world::World;

/// A client that stays connected; drop ends it.
struct SmbClient {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl SmbClient {
    fn start(smbd: &Smbd) -> SmbClient {
        let url = format!("smb://root:secret@127.0.0.1:{}/studio", smbd.port);
        let mut process = Command::new("python3")
            .args(["-c", include_str!("smb_client.py"), &url])
            .env("SMB_CONF_PATH", &smbd.conf)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let requests = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        SmbClient {
            process,
            requests,
            answers,
        }
    }

    fn call(&mut self, request: &Value) -> Result<Value, Errno> {
        writeln!(self.requests, "{request}").expect("the client reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("text");
        let mut answer: Value = serde_json::from_str(&answer)
            .unwrap_or_else(|error| panic!("{request}: {error}: {answer}"));
        match answer["errno"].as_i64() {
            Some(errno) => Err(Errno::from_raw_os_error(errno as i32)),
            None => Ok(answer["done"].take()),
        }
    }
}

impl Drop for SmbClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub struct SmbFront {
    // Dropped in this order.
    client: RefCell<SmbClient>,
    _smbd: Smbd,
    mount: KernelFront,
    actor: ActorId,
}

impl SmbFront {
    pub fn new(world: &World, actor: ActorId) -> SmbFront {
        let mount = KernelFront::new(world, actor);
        let smbd = Smbd::share(mount.root(), &world.folder(&format!("samba{actor}")));
        SmbFront {
            client: RefCell::new(SmbClient::start(&smbd)),
            _smbd: smbd,
            mount,
            actor,
        }
    }

    fn ask(&self, request: &Value) -> Result<Value, Errno> {
        self.client.borrow_mut().call(request)
    }

    /// Names, and whether they are folders.
    fn shown(&self, path: &str) -> Result<Vec<(String, bool)>, Errno> {
        let rows = self.ask(&json!(["rows", path]))?;
        Ok(serde_json::from_value(rows).expect("rows"))
    }

    fn done(&self, request: &Value) -> Result<(), Errno> {
        self.ask(request).map(drop)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let byte = |it| u8::from_str_radix(std::str::from_utf8(it).expect("text"), 16);
    digits.map(|it| byte(it).expect("digits")).collect()
}

impl Calls for SmbFront {
    fn mkdir(&self, path: &str) -> Result<(), Errno> {
        self.done(&json!(["mkdir", path]))
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        self.done(&json!(["create", path, hex(bytes)]))
    }

    fn write_at(&self, path: &str, position: Position, bytes: &[u8]) -> Result<(), Errno> {
        let at = match position {
            Position::End => self.len(path)?,
            Position::At(at) => at,
        };
        self.done(&json!(["change", path, at, hex(bytes)]))
    }

    fn truncate(&self, path: &str, len: u64) -> Result<(), Errno> {
        self.done(&json!(["truncate", path, len]))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.done(&json!(["rename", from, to]))
    }

    fn unlink(&self, path: &str) -> Result<(), Errno> {
        self.done(&json!(["unlink", path]))
    }

    fn rmdir(&self, path: &str) -> Result<(), Errno> {
        self.done(&json!(["rmdir", path]))
    }

    fn rows(&self, path: &str) -> Result<Vec<(String, Kind)>, Errno> {
        let kind = |(name, is_folder): (String, bool)| {
            let is_link = self.mount.read_link(&format!("{path}/{name}")).is_ok();
            let kind = match (is_link, is_folder) {
                (true, _) => Kind::Link,
                (_, true) => Kind::Folder,
                _ => Kind::File,
            };
            (name, kind)
        };
        Ok(self.shown(path)?.into_iter().map(kind).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        let text = self.ask(&json!(["read", path]))?;
        Ok(unhex(text.as_str().expect("text")))
    }

    fn len(&self, path: &str) -> Result<u64, Errno> {
        let len = self.ask(&json!(["stat", path]))?;
        Ok(len.as_u64().expect("a number"))
    }

    fn read_link(&self, path: &str) -> Result<String, Errno> {
        self.mount.read_link(path)
    }

    fn xattr(&self, path: &str, name: &str) -> Result<String, Errno> {
        self.mount.xattr(path, name)
    }

    fn set_xattr(&self, path: &str, name: &str, value: &str) -> Result<(), Errno> {
        self.mount.set_xattr(path, name, value)
    }

    /// As file managers remove a folder: they do not know links.
    fn remove_all(&self, path: &str) -> Result<(), Errno> {
        for (name, is_folder) in self.shown(path)? {
            let child = format!("{path}/{name}");
            match is_folder {
                true => self.remove_all(&child)?,
                false => self.unlink(&child)?,
            }
        }
        self.rmdir(path)
    }
}

impl Front for SmbFront {
    fn act(&mut self, op: &Op) -> Outcome {
        self.mount.stopping_for(op, || drive::act(self, op))
    }

    /// False for a rename onto a name that is taken, if it would fail: libsmbclient deletes the target before it renames, so the
    /// target would be lost.
    fn can(&self, model: &Model, op: &Op) -> bool {
        let result = |op: &Op| model.clone().apply(self.actor, op);
        match op {
            Op::Stopped(_, op) => self.can(model, op),
            Op::Rename(from, to) => {
                let is_taken = result(&Op::MakeDir(to.clone())) == Err(Errno::EXIST);
                from != to && (!is_taken || result(op).is_ok())
            }
            _ => true,
        }
    }

    fn told(&self, error: Errno) -> Errno {
        match error {
            Errno::NOTDIR => Errno::NOENT,
            Errno::PERM => Errno::ACCESS,
            Errno::INVAL => Errno::BUSY,
            error => error,
        }
    }

    fn picture(&mut self) -> Vec<String> {
        picture::picture(self)
    }

    fn expected(&self, model: &Model) -> Vec<String> {
        self.mount.expected(model)
    }
}

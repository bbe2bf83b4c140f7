//! Notifications of the desktop, on a session bus of the test with a service that keeps what it is asked to show.

use std::collections::HashMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use zbus::wire::OwnedVariant;
use zbus::{MessageStream, conn};

use crate::support::{ASSETFS, Fixture, run, shell, wait_until};
use crate::{needs_fuse, needs_program};

/// What `Notify` is called with: the program, what it replaces, icon, title, text, actions, hints, duration.
type Notification = (
    String,
    u32,
    String,
    String,
    String,
    Vec<String>,
    HashMap<String, OwnedVariant>,
    i32,
);

/// A session bus with a desktop.
struct Desktop {
    bus: Child,
    address: String,
    /// Title and text of each notification.
    shown: Arc<Mutex<Vec<(String, String)>>>,
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

impl Desktop {
    fn start(dir: &Path) -> Desktop {
        let socket = dir.join("bus");
        let address = format!("unix:path={}", socket.display());
        let config = dir.join("bus.conf");
        let text = format!(
            "<busconfig><type>session</type><listen>{address}</listen><policy context='default'>\
             <allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy></busconfig>"
        );
        fs::write(&config, text).unwrap();
        let bus = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config.display()))
            .arg("--nofork")
            .spawn()
            .unwrap();
        // The socket is there before it can be connected to.
        wait_until("the bus is there", || UnixStream::connect(&socket).is_ok());
        let shown = Arc::<Mutex<Vec<_>>>::default();
        let (kept, at) = (Arc::clone(&shown), address.clone());
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(serve(at, kept, ready));
        });
        is_ready.recv().unwrap();
        Desktop {
            bus,
            address,
            shown,
        }
    }

    fn variables(&self) -> [(&str, &str); 2] {
        [
            ("DBUS_SESSION_BUS_ADDRESS", &self.address),
            ("ASSETFS_NO_NOTIFY", "false"),
        ]
    }

    fn shown(&self) -> Vec<(String, String)> {
        self.shown.lock().unwrap().clone()
    }

    fn titles(&self) -> Vec<String> {
        self.shown().into_iter().map(|(title, _)| title).collect()
    }
}

async fn serve(
    address: String,
    shown: Arc<Mutex<Vec<(String, String)>>>,
    ready: std::sync::mpsc::Sender<()>,
) {
    let bus = conn::Builder::address(address.as_str())
        .build()
        .await
        .unwrap();
    let mut messages = MessageStream::from(&bus);
    bus.request_name("org.freedesktop.Notifications")
        .await
        .unwrap();
    ready.send(()).unwrap();
    while let Some(Ok(message)) = messages.next().await {
        let header = message.header();
        if header
            .member()
            .is_none_or(|member| member.as_str() != "Notify")
        {
            continue;
        }
        let body = message.body();
        let asked: Notification = body.deserialize().unwrap();
        shown.lock().unwrap().push((asked.3, asked.4));
        bus.reply(&header, &1u32).await.unwrap();
    }
}

/// A drive that was mounted with these arguments in the session of a desktop.
fn mounted(args: &[&str]) -> (Fixture, Desktop) {
    let mut fixture = Fixture::unmounted(&[]);
    let desktop = Desktop::start(fixture.scratch.path());
    fixture.mount_with(args, &desktop.variables());
    (fixture, desktop)
}

/// Runs one job that succeeds and one that fails, until enough is shown.
fn run_two_jobs(fixture: &Fixture, until: impl Fn() -> bool) {
    fixture.add_chair();
    let job = |name: &str, text: &str| {
        let path = format!("rawmodels/chair/optimize/{name}");
        fs::write(fixture.path(&path), text).unwrap();
        fixture.try_wait(&path)
    };
    let done = job("small.json", r#"{"limits": {"faces": {"count": 50}}}"#);
    assert!(done.status.success());
    let failed = job(
        "none.json",
        r#"{"sceneManipulation": {"removeSmallFeatures": {"removalPercentage": 100}}}"#,
    );
    assert!(!failed.status.success());
    wait_until("what is to be shown is shown", until);
    run(Command::new(ASSETFS).arg("unmount").arg(fixture.root()));
}

#[test]
fn the_end_of_a_job_is_shown_on_the_desktop_if_that_is_wanted() {
    needs_fuse!();
    needs_program!("dbus-daemon");
    let (fixture, desktop) = mounted(&["--notify"]);
    run_two_jobs(&fixture, || {
        desktop.titles().contains(&"Optimization failed".to_owned())
    });
    assert_eq!(
        desktop.titles(),
        ["Optimization done", "Optimization failed"]
    );
    let [(_, done), (_, failed)] = &desktop.shown()[..] else {
        panic!("{:?}", desktop.shown());
    };
    assert!(
        done.ends_with("/rawmodels/chair/optimize/small.json"),
        "{done}"
    );
    assert!(failed.contains("none.json: "), "{failed}");
}

#[test]
fn the_end_of_a_job_is_not_shown_on_the_desktop_unless_it_is_wanted() {
    needs_fuse!();
    needs_program!("dbus-daemon");
    let (fixture, desktop) = mounted(&[]);
    run_two_jobs(&fixture, || true);
    assert_eq!(desktop.titles(), Vec::<String>::new());
}

#[test]
fn a_refused_change_is_shown_on_the_desktop_once_with_its_reason() {
    needs_fuse!();
    needs_program!("dbus-daemon");
    let (fixture, desktop) = mounted(&[]);
    fixture.add_chair();
    let chair = fixture.path("rawmodels/chair");
    let refused = fs::rename(&chair, fixture.path("rawmodels/stool")).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(1), "{refused}");
    wait_until("it is shown", || !desktop.shown().is_empty());
    // The same again, what file managers make for themselves, and a command that prints its reason: nothing of it is shown.
    fs::rename(&chair, fixture.path("rawmodels/stool")).unwrap_err();
    fs::write(fixture.path(".directory"), "x").unwrap_err();
    shell(
        &fixture.root(),
        &format!("! {ASSETFS} cancel rawmodels/chair"),
    );
    // Something new is shown after the pause, and what is refused then together.
    fs::write(fixture.path("note.txt"), "x").unwrap_err();
    // `fs::write` ignores the error of `close`, which says that this is no preset.
    fs::write(fixture.path("presets/bad.json"), "{").unwrap();
    wait_until("the next is shown", || desktop.shown().len() > 1);
    let shown = desktop.shown();
    assert_eq!(shown.len(), 2, "{shown:?}");
    let (title, text) = &shown[0];
    assert_eq!(title, "A change on the drive failed");
    assert!(
        text.starts_with(chair.to_str().unwrap())
            && text.contains("the service cannot rename models"),
        "{text}"
    );
    assert!(
        shown[1]
            .1
            .contains("note.txt: nothing can be made in the top folder"),
        "{shown:?}"
    );
    assert!(
        shown[1].1.ends_with("\n1 more: run `assetfs status`"),
        "{shown:?}"
    );
}

#[test]
fn a_desktop_that_does_not_answer_holds_up_no_refusal() {
    needs_fuse!();
    // A socket that takes connections and never answers.
    let mut fixture = Fixture::unmounted(&[]);
    let socket = fixture.scratch.path().join("silent");
    let _silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let address = format!("unix:path={}", socket.display());
    let variables = [
        ("DBUS_SESSION_BUS_ADDRESS", address.as_str()),
        ("ASSETFS_NO_NOTIFY", "false"),
    ];
    fixture.mount_with(&[], &variables);
    let begun = Instant::now();
    for number in 0..200 {
        fs::write(fixture.path(&format!("note {number}.txt")), "x").unwrap_err();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn nothing_is_shown_on_the_desktop_with_no_notify() {
    needs_fuse!();
    needs_program!("dbus-daemon");
    let (fixture, desktop) = mounted(&["--no-notify"]);
    fs::write(fixture.path("note.txt"), "x").unwrap_err();
    run_two_jobs(&fixture, || true);
    assert_eq!(desktop.shown(), Vec::new());
}

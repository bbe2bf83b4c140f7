//! A headless Chromium, controlled by a pipe: what a page draws, logs, requests and opens.
//!
//! Its proxy is a listener of the test that never answers, used for all addresses but loopback. So requests at the
//! proxy are requests that would leave the machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::PATIENCE;

/// No window, software rendering, and as little network traffic of the browser as possible.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-service-autorun",
    "--password-store=basic",
    // Remaining requests of the browser go to a closed port.
    "--gaia-url=http://127.0.0.1:9/",
    "--component-updater=url-source=http://127.0.0.1:9/",
    "--variations-server-url=http://127.0.0.1:9/",
    "--disable-features=OptimizationHints,MediaRouter,DialMediaRouteProvider,NetworkTimeServiceQuerying,Translate",
];

/// A listener that records requests and never answers.
pub struct Trap {
    pub port: u16,
    visits: Arc<Mutex<Vec<String>>>,
}

impl Trap {
    pub fn set() -> Trap {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let visits = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&visits);
        std::thread::spawn(move || {
            for visitor in listener.incoming().flatten() {
                let _ = visitor.set_read_timeout(Some(Duration::from_secs(1)));
                let mut line = String::new();
                let _ = BufReader::new(visitor).read_line(&mut line);
                noted.lock().expect("no panic").push(line);
            }
        });
        Trap { port, visits }
    }

    /// The first line of each request.
    pub fn visits(&self) -> Vec<String> {
        self.visits.lock().expect("no panic").clone()
    }
}

/// The browser, and the events of its page so far.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    replies: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    way_out: Trap,
    /// Requested addresses.
    pub requests: Vec<String>,
    /// Errors and warnings of scripts and of the browser.
    pub complaints: Vec<String>,
    /// Texts of `alert` and similar dialogs.
    pub dialogs: Vec<String>,
    /// Other windows and tabs.
    pub other_pages: usize,
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium with a new profile.
    pub fn start() -> Browser {
        let profile = tempfile::tempdir().expect("a folder");
        let way_out = Trap::set();
        // The protocol uses the descriptors 3 and 4.
        let mut child = Command::new("bash")
            .args([
                "-c",
                r#"exec 3<&0 4>&1 </dev/null >/dev/null; exec chromium "$@""#,
            ])
            .arg("browser")
            .args(FLAGS)
            .arg(format!("--proxy-server=http://127.0.0.1:{}", way_out.port))
            .arg("--window-size=800,600")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("bash starts");
        let mut from = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while from
                .read_until(0, &mut message)
                .is_ok_and(|count| count > 0)
            {
                message.pop();
                let told = serde_json::from_slice(&message).expect("the protocol is JSON");
                message.clear();
                if sender.send(told).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            commands: child.stdin.take().expect("piped"),
            child,
            replies,
            session: None,
            last_id: 0,
            way_out,
            requests: Vec::new(),
            complaints: Vec::new(),
            dialogs: Vec::new(),
            other_pages: 0,
            _profile: profile,
        };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let made = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": made["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", target);
        self.session = Some(
            attached["sessionId"]
                .as_str()
                .expect("a session")
                .to_owned(),
        );
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        let watch = json!({"discover": true, "filter": [{"type": "page"}]});
        self.call("Target.setDiscoverTargets", watch);
        self.other_pages = 0;
    }

    /// Opens an address; returns when it was requested.
    pub fn go(&mut self, url: &str) {
        self.requests.clear();
        self.complaints.clear();
        let gone = self.call("Page.navigate", json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.call("Runtime.evaluate", asked)["result"]["value"].take()
    }

    /// Waits until an expression is true in the page.
    pub fn until(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(
                start.elapsed() < PATIENCE,
                "{expression}: {:?} {:?}",
                self.complaints,
                self.requests
            );
            self.listen(Duration::from_millis(100));
        }
    }

    /// A screenshot of the page, as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let data = shot["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .expect("base64")
    }

    /// Clicks with the left button.
    pub fn click(&mut self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// All requests that would have left the machine.
    pub fn ways_out(&self) -> Vec<String> {
        self.way_out.visits()
    }

    /// Receives events for this time.
    pub fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.replies.recv_timeout(left) {
                Ok(told) => self.note(&told),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => panic!("the browser is gone"),
            }
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let start = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let told = self.replies.recv_timeout(left);
            let mut told = told.unwrap_or_else(|error| panic!("{method}: {error}"));
            if told["id"] == id {
                assert!(told["error"].is_null(), "{method}: {told}");
                return told["result"].take();
            }
            self.note(&told);
        }
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands
            .write_all(&bytes)
            .expect("the browser listens");
        self.last_id
    }

    fn note(&mut self, told: &Value) {
        let params = &told["params"];
        match told["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            "Runtime.exceptionThrown" => {
                self.complaints.push(params["exceptionDetails"].to_string())
            }
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                self.complaints.push(params["args"].to_string());
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                self.complaints.push(params["entry"].to_string());
            }
            "Page.javascriptDialogOpening" => {
                self.dialogs.push(params["message"].to_string());
                self.send("Page.handleJavaScriptDialog", json!({"accept": true}));
            }
            "Target.targetCreated" => self.other_pages += 1,
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        self.send("Browser.close", json!({}));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

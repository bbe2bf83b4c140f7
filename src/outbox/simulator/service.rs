//! The simulated service: what it holds and what each request does to it. It records violations when they happen.
//! [`network`](super::network) simulates the network.

mod together;
mod works;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use tokio::time::Instant;

pub use self::together::SharedUpload;
use crate::client::scripted::{ScriptedReply, ScriptedRequest};
use crate::outbox::simulator::goals::is_version;
use crate::outbox::simulator::hook;
use crate::outbox::simulator::hook::{below, chance};

pub const BASE_URL: &str = "https://service.example";
const STORAGE: &str = "https://storage.example";

/// An asset.
#[derive(Debug, Clone)]
pub struct Asset {
    pub name: String,
    /// Created by another machine.
    pub foreign: bool,
    pub status: String,
    /// The expected objects, and the bytes of those that have been uploaded.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    /// Whether the answer to its start reached the outbox.
    pub answered: bool,
    urls_until: Instant,
    /// When its import ends, and its status then.
    import: Option<(Instant, String)>,
    /// Its upload under a join key.
    pub shared: Option<SharedUpload>,
}

#[derive(Debug, Clone)]
pub struct Rapid {
    pub asset: u64,
    pub settings: String,
    pub tags: BTreeMap<u64, String>,
    done_at: Instant,
    fails: bool,
}

#[derive(Debug, Clone)]
pub struct Embed {
    pub of: (bool, u64),
    pub name: String,
    pub config: String,
    pub foreign: bool,
}

#[derive(Debug, Clone)]
pub struct Preset {
    pub name: String,
    pub config: Value,
    pub foreign: bool,
}

#[derive(Debug, Default)]
pub struct Holdings {
    pub assets: BTreeMap<u64, Asset>,
    pub deleted: BTreeSet<u64>,
    /// Those of them that another machine deleted.
    pub deleted_elsewhere: BTreeSet<u64>,
    pub rapids: BTreeMap<u64, Rapid>,
    pub embeds: BTreeMap<u64, Embed>,
    pub presets: BTreeMap<u64, Preset>,
    /// All ids of presets that the outbox created, by name.
    pub preset_ids: BTreeMap<String, BTreeSet<u64>>,
    /// How often the outbox paid for each count of faces.
    pub paid: BTreeMap<String, usize>,
    /// Violations: events that must never happen.
    pub violations: Vec<String>,
    pub storage_left: u64,
    /// Whether a start with the idempotency key of another one repeats it.
    knows_keys: bool,
    /// Whether other machines start the same uploads, on a service that lets them join.
    pub together: bool,
    /// The last asset of each idempotency key.
    begun: BTreeMap<String, u64>,
    next: u64,
}

pub fn reply_with(status: u16, body: Value, headers: Vec<(&'static str, String)>) -> ScriptedReply {
    ScriptedReply {
        status,
        headers,
        body: match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        },
    }
}

fn reply(status: u16, body: Value) -> ScriptedReply {
    reply_with(status, body, Vec::new())
}

fn no_such() -> ScriptedReply {
    reply(404, json!({"message": "not there"}))
}

impl Holdings {
    /// An empty account.
    pub fn new() -> Holdings {
        Holdings {
            storage_left: 1 << 40,
            knows_keys: chance(50),
            next: 100,
            ..Holdings::default()
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn violation(&mut self, text: String) {
        hook::note(format!("VIOLATION {text}"));
        self.violations.push(text);
    }

    /// Ends imports whose time has come.
    fn settle(&mut self) {
        let now = Instant::now();
        for asset in self.assets.values_mut() {
            if let Some((_, status)) = asset.import.take_if(|(at, _)| *at <= now) {
                asset.status = status;
            }
        }
        self.let_others_work();
    }

    /// Carries out a request.
    pub fn apply(&mut self, request: &ScriptedRequest) -> ScriptedReply {
        self.settle();
        let Some(bytes) = &request.body else {
            return reply(400, json!({"message": "the body broke"}));
        };
        if request.url.as_str().starts_with(STORAGE) {
            if request.has_token {
                self.violation("the token went to storage".to_owned());
            }
            return self.storage(request, bytes);
        }
        let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let path = request.url.path().trim_start_matches("/api/v2/");
        let parts: Vec<&str> = path.split('/').collect();
        let id = |at: usize| parts.get(at).and_then(|it| it.parse::<u64>().ok());
        match (request.method.as_str(), &parts[..]) {
            ("POST", ["rawmodel", "api-upload", "start"]) => self.start(request, &body),
            ("GET", ["rawmodel", _, "api-upload", "complete"]) => self.complete(id(1)),
            ("POST", ["rawmodel", "optimize"]) => self.optimize_many(&body),
            ("POST", ["rawmodel", "optimize", _]) => self.optimize_one(id(2), &body),
            ("GET", ["rawmodel", "jobs"]) => self.running(),
            ("GET", ["rawmodel", _, "rapidmodels"]) => self.rapids_of(id(1)),
            ("GET", ["rawmodel", _, "downloads"]) => self.downloads(id(1)),
            ("GET", ["rawmodel"]) => self.list_assets(),
            ("GET", ["rawmodel", _]) => self.show_asset(id(1)),
            ("DELETE", ["rawmodel", _]) => self.delete_asset(id(1)),
            ("POST", ["rawmodel", _, "api-upload", "abandon"]) => self.abandon(id(1)),
            ("PUT", ["rawmodel", _]) => self.note_asset(id(1), &body),
            ("PUT", ["rapidmodel", _]) => self.note_rapid(id(1), &body),
            ("GET", ["rapidmodel", _]) => self.show_rapid(id(1)),
            // As of results before 2023-03: the service does not tell.
            ("GET", ["rapidmodel", _, "download", "preset"]) => no_such(),
            ("DELETE", ["rapidmodel", _, "tags", _]) => self.untag(id(1), id(3)),
            ("GET", ["embeds"]) => self.list_embeds(request),
            ("POST", ["embeds", "create"]) => self.embed(false, &body),
            ("POST", ["embeds", "raw"]) => self.embed(true, &body),
            ("GET", ["preset"]) => self.list_presets(),
            ("GET", ["preset", "factory"]) => reply(200, json!([])),
            ("POST", ["preset", "create"]) => self.create_preset(&body),
            ("PATCH", ["preset", "update"]) => self.update_preset(&body),
            ("DELETE", ["preset", _]) => self.delete_preset(id(1)),
            ("GET", ["user", "storage"]) => reply(200, json!({"storage_left": self.storage_left})),
            other => {
                self.violation(format!("an unknown request: {other:?}"));
                no_such()
            }
        }
    }

    fn start(&mut self, request: &ScriptedRequest, body: &Value) -> ScriptedReply {
        let names = body["filenames"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> = names
            .iter()
            .filter_map(|it| it.as_str())
            .map(str::to_owned)
            .collect();
        if let Some(join_key) = request.join_key.as_deref().filter(|_| self.together) {
            return self.start_together(request, body, &names, join_key);
        }
        let key = request.idempotency_key.clone().unwrap_or_default();
        let begun = self.begun.get(&key).copied();
        if let Some(id) = begun.filter(|id| self.knows_keys && self.assets.contains_key(id)) {
            return self.begin(id, &names);
        }
        let id = self.insert_started(body, &names);
        self.begun.insert(key, id);
        self.begin(id, &names)
    }

    /// A new asset for the files of a start.
    fn insert_started(&mut self, body: &Value, names: &[String]) -> u64 {
        let id = self.fresh();
        let asset = Asset {
            name: body["model_name"].as_str().unwrap_or_default().to_owned(),
            foreign: false,
            status: "incomplete".to_owned(),
            files: names.iter().map(|name| (name.clone(), None)).collect(),
            answered: false,
            urls_until: Instant::now(),
            import: None,
            shared: None,
        };
        self.assets.insert(id, asset);
        id
    }

    /// The reply to the start of an asset: new URLs for its objects.
    fn begin(&mut self, id: u64, names: &[String]) -> ScriptedReply {
        let until = Instant::now() + Duration::from_secs(30 + below(3600));
        let asset = self.assets.get_mut(&id).expect("it is there");
        let expected: Vec<&String> = asset.files.keys().collect();
        let mut asked: Vec<&String> = names.iter().collect();
        asked.sort();
        if asset.status != "incomplete" && !asset.has_partner() || expected != asked {
            let name = asset.name.clone();
            self.violation(format!("another request was sent with the key of {name}"));
            return reply(409, json!({"message": "another request has this key"}));
        }
        asset.urls_until = until;
        let urls: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), url_of(id, name).into()))
            .collect();
        let links = json!({"s3_upload_urls": urls, "complete_upload": format!("{BASE_URL}/x")});
        reply(200, json!({"id": id, "links": links}))
    }

    fn complete(&mut self, id: Option<u64>) -> ScriptedReply {
        let Some(asset) = id.and_then(|id| self.assets.get_mut(&id)) else {
            return no_such();
        };
        let name = asset.name.clone();
        if asset.status != "incomplete" && asset.has_partner() {
            return self.show_asset(id);
        }
        if asset.status != "incomplete" {
            self.violation(format!("{name} was completed twice"));
            return reply(200, json!({"data": {}}));
        }
        let missing = asset.files.values().filter(|bytes| bytes.is_none()).count();
        asset.begin_import();
        if missing > 0 {
            self.violation(format!(
                "{name} was completed without {missing} of its files"
            ));
        }
        self.show_asset(id)
    }

    fn storage(&mut self, request: &ScriptedRequest, bytes: &[u8]) -> ScriptedReply {
        let path = request.url.path().trim_start_matches('/');
        let (id, name) = path.split_once('/').unwrap_or((path, ""));
        let name = percent_decoded(name);
        let Some(asset) = id.parse().ok().and_then(|id: u64| self.assets.get_mut(&id)) else {
            return no_such();
        };
        match request.method.as_str() {
            "PUT" if asset.urls_until <= Instant::now() => reply(403, Value::Null),
            "PUT" if asset.status != "incomplete" && asset.has_partner() => {
                reply(409, json!({"message": "the upload is complete"}))
            }
            "PUT" => {
                let frozen = asset.status != "incomplete";
                let of = asset.name.clone();
                asset.files.insert(name.clone(), Some(bytes.to_vec()));
                if frozen {
                    self.violation(format!("{name} of {of} was put after its completion"));
                }
                reply(200, Value::Null)
            }
            _ => match asset.files.get(&name) {
                Some(Some(bytes)) => meta_of(bytes),
                _ => no_such(),
            },
        }
    }

    fn downloads(&mut self, id: Option<u64>) -> ScriptedReply {
        let Some((id, asset)) = id.and_then(|id| Some((id, self.assets.get(&id)?))) else {
            return no_such();
        };
        let urls = asset.files.iter().filter(|(_, bytes)| bytes.is_some());
        let urls: serde_json::Map<String, Value> = urls
            .map(|(name, _)| (name.clone(), url_of(id, name).into()))
            .collect();
        reply(200, urls.into())
    }

    fn show_asset(&mut self, id: Option<u64>) -> ScriptedReply {
        match id.and_then(|id| Some((id, self.assets.get(&id)?))) {
            Some((id, asset)) => reply(200, json!({"data": asset_record(id, asset)})),
            None => no_such(),
        }
    }

    fn note_asset(&mut self, id: Option<u64>, body: &Value) -> ScriptedReply {
        let Some(asset) = id.and_then(|id| self.assets.get(&id)) else {
            return no_such();
        };
        if asset.foreign || asset.status != "complete" || !are_notes(body) {
            let name = asset.name.clone();
            self.violation(format!("{name} was tagged with {body}"));
        }
        reply(200, Value::Null)
    }

    fn list_assets(&mut self) -> ScriptedReply {
        let data: Vec<Value> = self
            .assets
            .iter()
            .map(|(id, it)| asset_record(*id, it))
            .collect();
        reply(200, page(data))
    }

    fn delete_asset(&mut self, id: Option<u64>) -> ScriptedReply {
        let Some((id, asset)) = id.and_then(|id| Some((id, self.assets.remove(&id)?))) else {
            return no_such();
        };
        if asset.has_partner() && !self.is_old_version(id, &asset) {
            self.violation(format!(
                "{} was deleted, although another machine started or joined it",
                asset.name
            ));
        }
        if asset.foreign || !asset.answered {
            self.violation(format!(
                "{} was deleted, although its id was never returned",
                asset.name
            ));
        }
        let is_complete = is_version(&asset.name) && asset.status == "complete";
        if is_complete && !self.is_old_version(id, &asset) {
            self.violation(format!(
                "the only complete version of {} was deleted",
                asset.name
            ));
        }
        self.deleted.insert(id);
        self.rapids.retain(|_, rapid| rapid.asset != id);
        reply(200, Value::Null)
    }

    /// True for a version of a model that has another one.
    fn is_old_version(&self, id: u64, asset: &Asset) -> bool {
        // A newer version may be cancelled while the older one is imported.
        let stays = |(other, it): (&u64, &Asset)| {
            let is_mine = it.name == asset.name && !it.foreign;
            is_mine && (it.status == "complete" || *other < id && it.status != "incomplete")
        };
        is_version(&asset.name) && self.assets.iter().any(stays)
    }

    /// Creates an asset of another machine.
    pub fn foreign_asset(&mut self, name: &str, status: &str) -> u64 {
        let id = self.fresh();
        let asset = Asset {
            name: name.to_owned(),
            foreign: true,
            status: status.to_owned(),
            files: BTreeMap::new(),
            answered: false,
            urls_until: Instant::now(),
            import: None,
            shared: None,
        };
        self.assets.insert(id, asset);
        id
    }

    /// Another machine deletes an asset.
    pub fn delete_elsewhere(&mut self, id: u64) {
        if self.assets.remove(&id).is_some() {
            hook::note(format!("another machine deletes {id}"));
            self.deleted.insert(id);
            self.deleted_elsewhere.insert(id);
            self.rapids.retain(|_, rapid| rapid.asset != id);
        }
    }

    /// All upload URLs stop working.
    pub fn expire_urls(&mut self) {
        for asset in self.assets.values_mut() {
            asset.urls_until = Instant::now();
        }
    }
}

/// True for a body that only adds notes of the drive.
fn are_notes(body: &Value) -> bool {
    let tags = body["tags"].as_array();
    let is_note = |tag: &Value| tag.as_str().is_some_and(|it| it.starts_with("assetfs:"));
    tags.is_some_and(|tags| !tags.is_empty() && tags.iter().all(is_note))
}

fn asset_record(id: u64, asset: &Asset) -> Value {
    json!({"id": id, "name": asset.name, "upload_status": asset.status})
}

fn page(data: Vec<Value>) -> Value {
    let total = data.len();
    json!({"data": data, "links": {}, "meta": {"current_page": 1, "last_page": 1, "per_page": 1000, "total": total}})
}

fn url_of(id: u64, name: &str) -> String {
    let mut url = url::Url::parse(&format!("{STORAGE}/{id}/")).expect("a URL");
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop_if_empty().push(name);
    }
    url.query_pairs_mut().append_pair("X-Signature", "secret");
    url.into()
}

fn percent_decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The answer to a request for the first byte of an object.
fn meta_of(bytes: &[u8]) -> ScriptedReply {
    let md5: String = Md5::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let etag = ("etag", format!("\"{md5}\""));
    if bytes.is_empty() {
        let range = ("content-range", "bytes */0".to_owned());
        return reply_with(416, Value::Null, vec![range, etag]);
    }
    let range = ("content-range", format!("bytes 0-0/{}", bytes.len()));
    ScriptedReply {
        status: 206,
        headers: vec![range, etag],
        body: bytes[..1].to_vec(),
    }
}

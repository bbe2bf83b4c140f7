//! What a drive shows, with or without a kernel, and what the model says that it shows.

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;

use super::calls::{Calls, Kind};
use super::drive::TAGS;
use crate::files::{Node, is_below};
use crate::history::ActorId;
use crate::model::{Finished, Model};
use crate::results::Optimized;
use crate::world::{FAILURE, POINTS};

/// Bytes as text that is short and still differs if the bytes do.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let begin: String = text
        .chars()
        .take(24)
        .filter(|it| !it.is_control())
        .collect();
    format!(
        "{} bytes {:016x} {begin:?}",
        bytes.len(),
        xxhash_rust::xxh3::xxh3_64(bytes)
    )
}

/// Numbers of the service are not foretold.
fn without_id(name: &str) -> String {
    match name.rsplit_once('~') {
        Some((name, id)) if !id.is_empty() && id.bytes().all(|it| it.is_ascii_digit()) => {
            format!("{name}~ID")
        }
        _ => name.to_owned(),
    }
}

/// What a drive shows now. An error is a line, too.
pub fn picture(calls: &dyn Calls) -> Vec<String> {
    let mut picture = Picture {
        calls,
        lines: Vec::new(),
        links: BTreeMap::new(),
    };
    picture.models();
    picture.results();
    picture.rest();
    picture.lines.sort();
    picture.lines
}

struct Picture<'a> {
    calls: &'a dyn Calls,
    lines: Vec<String>,
    /// Which texts lead to a folder of `rapidmodels/`.
    links: BTreeMap<String, Vec<String>>,
}

impl Picture<'_> {
    fn rows(&mut self, path: &str) -> Vec<(String, Kind)> {
        match self.calls.rows(path) {
            Ok(rows) => rows,
            Err(error) => {
                self.lines.push(format!("{path} cannot be listed: {error}"));
                Vec::new()
            }
        }
    }

    /// All files below a folder. The length of `stat` must be that of the bytes.
    fn files(&mut self, path: &str, shown_path: &str) {
        for (name, kind) in self.rows(path) {
            let (child, line) = (format!("{path}/{name}"), format!("{shown_path}/{name}"));
            match kind {
                Kind::Folder => {
                    self.lines.push(format!("{line}/"));
                    self.files(&child, &line);
                }
                Kind::File => {
                    let text = match (self.calls.read(&child), self.calls.len(&child)) {
                        (Ok(bytes), Ok(len)) if bytes.len() as u64 == len => shown(&bytes),
                        (Ok(bytes), len) => format!("{}, stat says {len:?}", shown(&bytes)),
                        (Err(error), _) => error.to_string(),
                    };
                    self.lines.push(format!("{line}: {text}"));
                }
                Kind::Link => self.lines.push(format!("{line} is a link")),
            }
        }
    }

    fn models(&mut self) {
        for (name, kind) in self.rows("rawmodels") {
            let path = format!("rawmodels/{name}");
            let line = without_id(&name);
            if kind != Kind::Folder {
                self.lines.push(format!("{line} is no folder"));
                continue;
            }
            let state = self.calls.read_text(&format!("{path}/.assetfs/state"));
            let state = state.unwrap_or_else(|error| error.to_string());
            let is_sent =
                ["uploading", "importing", "complete", "failed"].contains(&state.as_str());
            if !is_sent {
                self.lines.push(format!("{line} is a draft"));
                self.files(&path, &line);
                continue;
            }
            let tags = self.tags(&path);
            self.lines.push(format!("{line} is {state}, tags {tags}"));
            for (part, kind) in self.rows(&path) {
                match (part.as_str(), kind) {
                    ("optimize", Kind::Folder) => self.texts(&name, &line),
                    ("rapidmodels" | "analysis", Kind::Folder) => {
                        let count = self.rows(&format!("{path}/{part}")).len();
                        self.lines.push(format!("{line}/{part} has {count}"));
                    }
                    _ => {}
                }
            }
            self.own_files(&path, &line);
        }
    }

    fn tags(&self, path: &str) -> String {
        match self.calls.xattr(path, TAGS) {
            Ok(tags) => in_order(tags.split(',').map(str::to_owned)),
            Err(Errno::NODATA) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    /// The files that were copied in, and not what the service adds.
    fn own_files(&mut self, path: &str, line: &str) {
        let before = self.lines.len();
        self.files(path, line);
        let added = ["analysis", "optimize", "rapidmodels", "renders", "embeds"];
        let is_added = |text: &String| {
            let rest = text.strip_prefix(line).unwrap_or_default();
            let top = rest.trim_start_matches('/').split(['/', ':']).next();
            added.contains(&top.unwrap_or_default())
        };
        let own: Vec<String> = self
            .lines
            .drain(before..)
            .filter(|it| !is_added(it))
            .collect();
        self.lines.extend(own);
    }

    fn texts(&mut self, name: &str, line: &str) {
        let folder = format!("rawmodels/{name}/optimize");
        for (part, kind) in self.rows(&folder) {
            let path = format!("{folder}/{part}");
            match kind {
                Kind::Link => {
                    let target = self.calls.read_link(&path).unwrap_or_default();
                    let result = target.rsplit('/').next().unwrap_or_default().to_owned();
                    self.lines
                        .push(format!("{line}/optimize/{part} is a result"));
                    let of = format!("{line}/{part}");
                    self.links.entry(result).or_default().push(of);
                }
                _ => {
                    let text = self.calls.read_text(&path);
                    let text = text.unwrap_or_else(|error| error.to_string());
                    self.lines.push(format!("{line}/optimize/{part}: {text}"));
                }
            }
        }
    }

    fn results(&mut self) {
        for (name, _) in self.rows("rapidmodels") {
            let path = format!("rapidmodels/{name}");
            let state = self.calls.read_text(&format!("{path}/.assetfs/state"));
            let state = state.unwrap_or_else(|error| error.to_string());
            let tags = self.tags(&path);
            let mut links = self.links.remove(&name).unwrap_or_default();
            links.sort();
            let links = links.join(" ");
            let file = match state.as_str() {
                "failed" => "ERROR.txt",
                _ => "result.glb",
            };
            let file = self.calls.read_text(&format!("{path}/{file}"));
            let embeds = match self.calls.rows(&format!("{path}/embeds")) {
                Ok(rows) => rows.into_iter().map(|(name, _)| name).collect(),
                Err(_) => BTreeSet::new(),
            };
            let (file, embeds) = (
                file.unwrap_or_else(|error| error.to_string()),
                in_line(&embeds),
            );
            self.lines.push(format!(
                "result of [{links}] is {state}, tags {tags}, {file}, embeds {embeds}"
            ));
        }
    }

    fn rest(&mut self) {
        for (name, kind) in self.rows("presets") {
            if kind == Kind::File {
                let text = self.calls.read_text(&format!("presets/{name}"));
                let text = text.unwrap_or_else(|error| error.to_string());
                self.lines.push(format!("presets/{name}: {text}"));
            }
        }
        let embeds = self.rows("embeds").len();
        self.lines.push(format!("{embeds} embeds"));
        let jobs = self.rows("jobs").len();
        self.lines.push(format!("{jobs} jobs that run or failed"));
        let points = self.calls.read_text("account/points");
        let points = points.unwrap_or_else(|error| error.to_string());
        self.lines.push(format!("points {points}"));
    }
}

fn in_line(names: &BTreeSet<String>) -> String {
    names.iter().cloned().collect::<Vec<_>>().join(" ")
}

/// The picture that the model has of a drive.
pub fn expected(model: &Model, actor: ActorId) -> Vec<String> {
    let mut lines = Vec::new();
    for ((of, name), files) in &model.drafts {
        if *of == actor {
            lines.push(format!("{name} is a draft"));
            expect_files(&mut lines, name, files);
        }
    }
    let replaced = model
        .replaced
        .iter()
        .map(|(name, it)| (format!("{name}~ID"), it));
    let present = model.models.iter().map(|(name, it)| (name.clone(), it));
    for (name, finished) in present.chain(replaced) {
        let tags = joined_sorted(&finished.tags);
        lines.push(format!("{name} is complete, tags {tags}"));
        lines.push(format!("{name}/analysis has 6"));
        let files = match finished.by == actor {
            true => finished.files.clone(),
            false => without_empty_folders(&finished.files),
        };
        expect_files(&mut lines, &name, &files);
        let results = model
            .results
            .iter()
            .filter(|it| it.source == finished.serial);
        let count = results.count();
        lines.push(format!("{name}/rapidmodels has {count}"));
        expect_texts(&mut lines, &name, finished, actor);
    }
    lines.extend(
        model
            .results
            .iter()
            .map(|it| expected_result(model, it, actor)),
    );
    for (name, preset) in &model.presets {
        let mut config = String::from_utf8(preset.text.bytes()).expect("text");
        if !preset.by.contains(&actor) {
            let value: serde_json::Value = serde_json::from_str(&config).expect("JSON");
            config = serde_json::to_string_pretty(&value).expect("JSON");
        }
        lines.push(format!("presets/{name}.json: {config}"));
    }
    let embeds: usize = model.results.iter().map(|it| it.embeds.len()).sum();
    lines.push(format!("{embeds} embeds"));
    let failed = model.results.iter().filter(|it| it.text.fails()).count();
    lines.push(format!("{failed} jobs that run or failed"));
    lines.push(format!("points {}", POINTS - model.points()));
    lines.sort();
    lines
}

fn joined_sorted(tags: &BTreeSet<String>) -> String {
    in_order(tags.iter().map(|tag| tag.replace(',', "%2C")))
}

pub fn in_order(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.join(",")
}

fn expect_files(lines: &mut Vec<String>, name: &str, files: &BTreeMap<String, Node>) {
    for (path, node) in files {
        lines.push(match node {
            Node::Folder => format!("{name}/{path}/"),
            Node::File(bytes) => format!("{name}/{path}: {}", shown(bytes)),
        });
    }
}

fn expect_texts(lines: &mut Vec<String>, name: &str, finished: &Finished, actor: ActorId) {
    for (text, content) in finished.shown_texts(actor) {
        let path = format!("{name}/optimize/{text}");
        if Model::is_own_text(actor, text) {
            let config = String::from_utf8(content.bytes()).expect("text");
            lines.push(format!("{path}.json: {config}"));
        }
        match content.fails() {
            true => lines.push(format!("{path}.status: failed: {FAILURE}")),
            false => {
                lines.push(format!("{path}.status: done"));
                lines.push(format!("{path} is a result"));
            }
        }
    }
    let errors = finished.errors(actor);
    if !errors.is_empty() {
        lines.push(format!("{name}/optimize/ERROR.txt: {}", errors.join("\n")));
    }
}

/// What other machines have of a model: an empty folder is not uploaded.
fn without_empty_folders(files: &BTreeMap<String, Node>) -> BTreeMap<String, Node> {
    let is_sent = |path: &str, node: &Node| {
        let is_file = |node: &Node| matches!(node, Node::File(_));
        let mut all = files.iter();
        is_file(node) || all.any(|(file, node)| is_file(node) && is_below(file, path))
    };
    let sent = files.iter().filter(|(path, node)| is_sent(path, node));
    sent.map(|(path, node)| (path.clone(), node.clone()))
        .collect()
}

fn expected_result(model: &Model, result: &Optimized, actor: ActorId) -> String {
    let replaced = model
        .replaced
        .iter()
        .map(|(name, it)| (format!("{name}~ID"), it));
    let present = model.models.iter().map(|(name, it)| (name.clone(), it));
    let mut links: Vec<String> = Vec::new();
    for (name, source) in present.chain(replaced) {
        let texts = source
            .shown_texts(actor)
            .filter(|_| source.serial == result.source);
        let same = texts.filter(|(_, content)| **content == result.text && !content.fails());
        links.extend(same.map(|(text, _)| format!("{name}/{text}")));
    }
    links.sort();
    // Others see the embed in the top folder only.
    let own = result.embeds.iter().filter(|(_, by)| by.contains(&actor));
    let embeds = own.flat_map(|(name, _)| {
        ["html", "json", "status"].map(|extension| format!("{name}.{extension}"))
    });
    let (links, tags) = (links.join(" "), joined_sorted(&result.tags));
    let embeds = in_line(&embeds.collect());
    let (state, file) = match result.text.fails() {
        true => ("failed", format!("failed: {FAILURE}")),
        false => ("done", "glb".to_owned()),
    };
    format!("result of [{links}] is {state}, tags {tags}, {file}, embeds {embeds}")
}

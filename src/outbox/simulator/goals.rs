//! The goals of the users in a simulation, and the allowed results. Their steps are in [`people`](super::people).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::outbox::ids::{Caller, JobFolder};
use crate::outbox::simulator::hook::{below, chance};

/// A caller without a process.
pub const ME: Caller = Caller {
    pid: 0,
    uid: 1000,
    gid: 1000,
};

/// The files of a model, by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// How a copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finale {
    Settle,
    Commit,
    Cancel,
    Modify,
    Rename,
}

/// A user copies a model in.
#[derive(Debug)]
pub struct DraftGoal {
    pub name: String,
    pub loose: bool,
    pub finale: Finale,
    pub step: usize,
    /// The allowed results on the service; empty for none.
    pub allowed: Vec<Files>,
    /// In the order in which they are copied.
    pub files: Vec<(String, Vec<u8>)>,
    /// The present step was tried, with an unknown outcome.
    pub tried: bool,
}

/// A user drops a text into a drop folder.
#[derive(Debug)]
pub struct JobGoal {
    pub kind: JobKind,
    /// The names of its models.
    pub models: Vec<String>,
    /// Part of the settings of all its results.
    pub marker: String,
    pub name: String,
    pub text: Vec<u8>,
    pub folder: Option<JobFolder>,
    pub step: usize,
    /// Number of runs that may have been paid again.
    pub runs: u32,
    pub run_again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    Optimize,
    Many,
    Embed,
}

/// A user edits a preset.
#[derive(Debug)]
pub struct PresetGoal {
    pub name: String,
    pub step: usize,
    /// The allowed texts at the end; empty for none.
    pub allowed: Vec<String>,
    pub edits: Vec<Edit>,
    pub tried: bool,
}

impl PresetGoal {
    /// True if it is removed in the end.
    pub fn is_removed(&self) -> bool {
        matches!(self.edits.last(), Some(Edit::Remove))
    }
}

/// One edit of a preset.
#[derive(Debug, Clone)]
pub enum Edit {
    Save(String),
    /// As some editors do: rename the old file to a backup, then write a new one.
    Detour(String),
    Remove,
}

/// All goals of a run.
#[derive(Debug, Clone)]
pub struct Goals {
    pub drafts: Vec<Arc<Mutex<DraftGoal>>>,
    pub jobs: Vec<Arc<Mutex<JobGoal>>>,
    pub presets: Vec<Arc<Mutex<PresetGoal>>>,
}

impl Goals {
    pub fn new() -> Goals {
        let drafts: Vec<DraftGoal> = (0..1 + below(4)).map(draft_goal).collect();
        let names: Vec<String> = drafts.iter().map(|goal| goal.name.clone()).collect();
        let jobs = (0..below(4)).map(|number| job_goal(number, &names));
        let presets = (0..below(3)).map(preset_goal);
        let shared_jobs = jobs.map(|goal| Arc::new(Mutex::new(goal))).collect();
        Goals {
            presets: presets.map(|goal| Arc::new(Mutex::new(goal))).collect(),
            drafts: drafts
                .into_iter()
                .map(|goal| Arc::new(Mutex::new(goal)))
                .collect(),
            jobs: shared_jobs,
        }
    }
}

impl Goals {
    /// The goals that were not reached.
    pub fn unreached(&self) -> Vec<String> {
        let mut left = Vec::new();
        for goal in &self.drafts {
            let goal = goal.lock().unwrap();
            if goal.step <= goal.files.len() {
                left.push(format!("{} never got beyond step {}", goal.name, goal.step));
            }
        }
        for goal in &self.presets {
            let goal = goal.lock().unwrap();
            if goal.step < goal.edits.len() {
                left.push(format!("{} never got beyond step {}", goal.name, goal.step));
            }
        }
        left
    }
}

fn bytes(len: u64) -> Vec<u8> {
    (0..len).map(|_| below(256) as u8).collect()
}

pub fn glb(len: u32) -> Vec<u8> {
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend(len.to_le_bytes());
    glb.extend(2u32.to_le_bytes());
    glb.extend(b"JSON{}");
    glb.extend(bytes(u64::from(len) - glb.len() as u64));
    glb
}

fn draft_goal(number: u64) -> DraftGoal {
    let loose = chance(20);
    let name = format!("d{number}");
    let finale = match below(10) {
        0..=3 => Finale::Settle,
        4..=5 => Finale::Commit,
        6 => Finale::Cancel,
        7..=8 => Finale::Modify,
        _ => Finale::Rename,
    };
    let mut files = Vec::new();
    if loose {
        files.push((format!("{name}.glb"), glb(60 + below(400) as u32)));
    } else if chance(30) {
        files.push(("a.glb".to_owned(), glb(60 + below(400) as u32)));
    } else {
        let folder = if chance(40) { "textures/" } else { "" };
        let len = 1 + below(600);
        let gltf = format!(
            r#"{{"asset":{{"version":"2.0"}},"buffers":[{{"uri":"a.bin","byteLength":{len}}}],"images":[{{"uri":"{folder}b.dat"}}]}}"#
        );
        files.push(("a.gltf".to_owned(), gltf.into_bytes()));
        files.push(("a.bin".to_owned(), bytes(len)));
        files.push((format!("{folder}b.dat"), bytes(1 + below(300))));
        let at = below(3) as usize;
        files.swap(0, at);
    }
    DraftGoal {
        name: if loose { format!("{name}.glb") } else { name },
        loose,
        finale: if loose && finale == Finale::Rename {
            Finale::Settle
        } else {
            finale
        },
        step: 0,
        allowed: vec![files.iter().cloned().collect()],
        files,
        tried: false,
    }
}

fn job_goal(number: u64, names: &[String]) -> JobGoal {
    let marker = format!("{}", 7_000 + number);
    let model = names[below(names.len() as u64) as usize].clone();
    let (kind, models, text) = match below(4) {
        0 => {
            let items = names.iter().map(|name| {
                format!(
                    r#"{{"model":"{name}","config":{{"limits":{{"faces":{{"count":{marker}}}}}}}}}"#
                )
            });
            let items: Vec<String> = items.collect();
            let text = format!(r#"{{"optimizations":[{}]}}"#, items.join(","));
            (JobKind::Many, names.to_vec(), text)
        }
        1 => {
            let text = format!(r#"{{"name":"e","config":{{"marker":"{marker}"}}}}"#);
            (JobKind::Embed, vec![model], text)
        }
        _ => {
            let text = format!(r#"{{"limits":{{"faces":{{"count":{marker}}}}}}}"#);
            (JobKind::Optimize, vec![model], text)
        }
    };
    JobGoal {
        kind,
        models,
        marker,
        name: format!("j{number}.json"),
        text: text.into_bytes(),
        folder: None,
        step: 0,
        runs: 0,
        run_again: chance(10),
    }
}

fn preset_goal(number: u64) -> PresetGoal {
    let text = |version: u64| format!(r#"{{"limits":{{"faces":{{"count":{version}}}}}}}"#);
    let mut edits = vec![Edit::Save(text(1))];
    for version in 2..2 + below(3) {
        edits.push(match chance(50) {
            true => Edit::Save(text(version)),
            false => Edit::Detour(text(version)),
        });
    }
    if chance(20) {
        edits.push(Edit::Remove);
    }
    PresetGoal {
        name: format!("p{number}.json"),
        step: 0,
        allowed: Vec::new(),
        edits,
        tried: false,
    }
}

/// The names that a goal's model may have on the service.
pub fn asset_names(goal: &DraftGoal) -> BTreeSet<String> {
    let stem = goal.name.trim_end_matches(".glb");
    let stem = stem.trim_end_matches('r');
    BTreeSet::from([stem.to_owned(), format!("{stem}r")])
}

/// True for the name of a model that is replaced.
pub fn is_version(name: &str) -> bool {
    name.starts_with('v')
}

//! Histories: what users do, made from a seed, and made shorter when one fails.

use std::collections::BTreeSet;

use rustix::io::Errno;

use crate::content::Content;
use crate::files::Node;
use crate::model::Model;

/// A machine or a program that works on the account.
pub type ActorId = usize;

/// What a user does. Paths are below `rawmodels/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    MakeDir(String),
    /// Creates or overwrites, as `cp` does.
    Write(String, Content),
    Append(String, Content),
    /// Writes into the file at an offset.
    Overwrite(String, u64, Content),
    Truncate(String, u64),
    Rename(String, String),
    RemoveFile(String),
    RemoveDir(String),
    /// `rm -r` of a draft or a model.
    RemoveAll(String),
    /// Sends a draft.
    Commit(String),
    /// Copies a model in and sends it.
    Upload(String, Vec<(String, Content)>),
    /// Sends a draft and removes it while it is sent.
    CommitAndRemove(String),
    /// Model, name of the text, text.
    Optimize(String, String, Content),
    /// The same by the API, where a text has no name.
    Order(String, Content),
    RemoveText(String, String),
    /// Removes the `ERROR.txt` in the `optimize/` of a model.
    DismissErrors(String),
    /// Model, name of the text, name of the embed.
    Embed(String, String, String),
    Tag(String, BTreeSet<String>),
    TagResult(String, String, BTreeSet<String>),
    Replace(String, Content),
    WritePreset(String, Content),
    RemovePreset(String),
    RenamePreset(String, String),
    /// The same while the service has a fault.
    Faulty(Fault, Box<Op>),
    /// The same, and in the middle a process stands still.
    Stopped(Stop, Box<Op>),
    /// The same while the disk of the drive's state is full.
    Full(Box<Op>),
    Remount,
    Kill,
    KillService,
}

impl Op {
    /// Whether it is one call to the file system, or the change of one file.
    fn is_one_call(&self) -> bool {
        let is_of_name = matches!(self, Op::MakeDir(_) | Op::Rename(..));
        let is_sent = matches!(self, Op::WritePreset(..) | Op::Optimize(..));
        self.changes_file() || is_of_name || is_sent || self.needs_no_room()
    }

    /// Opens a file of a draft, changes it and closes it.
    pub fn changes_file(&self) -> bool {
        matches!(
            self,
            Op::Write(..) | Op::Append(..) | Op::Overwrite(..) | Op::Truncate(..)
        )
    }

    /// A full disk is no reason to refuse it.
    pub fn needs_no_room(&self) -> bool {
        matches!(
            self,
            Op::RemoveFile(_) | Op::RemoveDir(_) | Op::RemovePreset(_) | Op::Commit(_)
        )
    }
}

/// SIGSTOP, so many milliseconds after an operation has begun, and SIGCONT after so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub process: Process,
    pub after: u64,
    pub length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Drive,
    Service,
}

/// What half of the requests meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Busy,
    DropBefore,
    DropAfter,
    CutReply,
    Slow,
}

impl Fault {
    /// As a plan of the service.
    pub fn plan(self) -> String {
        let fault = match self {
            Fault::Busy => r#"kind = "status", status = 503"#,
            Fault::DropBefore => r#"kind = "drop_before""#,
            Fault::DropAfter => r#"kind = "drop_after""#,
            Fault::CutReply => r#"kind = "cut_reply", bytes = 10"#,
            Fault::Slow => r#"kind = "latency", ms = 20"#,
        };
        format!("[[rule]]\nchance = 0.5\nfault = {{ {fault} }}\n")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub actor: ActorId,
    pub op: Op,
}

/// Who works, and what happens to them.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub operations: usize,
    pub actors: usize,
    /// The actors that have drafts: the others call the API.
    pub drives: usize,
    pub has_kills: bool,
    pub has_faults: bool,
    pub has_stops: bool,
    pub has_full_disks: bool,
    /// The number of the first actor's user: users of one drive have names of their own.
    pub user: usize,
}

/// Random numbers from a seed (SplitMix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len().max(1) as u64) as usize;
        from.get(at).cloned()
    }
}

/// Steps whose outcome the model knows, so that most of them find something to work on.
pub struct Generator {
    dice: Dice,
    plan: Plan,
    model: Model,
    steps: Vec<Step>,
    numbers: u32,
}

impl Generator {
    pub fn history(seed: u64, plan: Plan) -> Vec<Step> {
        let mut generator = Generator {
            dice: Dice::new(seed),
            plan,
            model: Model::default(),
            steps: Vec::new(),
            numbers: 0,
        };
        while generator.steps.len() < plan.operations {
            generator.next();
        }
        generator.steps
    }

    fn push(&mut self, actor: ActorId, op: Op) {
        if !self.model.covers(actor, &op) {
            return;
        }
        // An error is an outcome like others.
        let _: Result<(), Errno> = self.model.apply(actor, &op);
        let is_sent = matches!(
            op,
            Op::Commit(_) | Op::Optimize(..) | Op::Tag(..) | Op::RemoveAll(_) | Op::WritePreset(..)
        );
        let op = match self.plan.has_faults && is_sent && self.dice.chance(50) {
            true => Op::Faulty(self.fault(), Box::new(op)),
            false if self.plan.has_stops && self.dice.chance(20) => {
                Op::Stopped(self.stop(), Box::new(op))
            }
            false if self.plan.has_full_disks && op.is_one_call() && self.dice.chance(20) => {
                Op::Full(Box::new(op))
            }
            false => op,
        };
        self.steps.push(Step { actor, op });
    }

    fn next(&mut self) {
        let actor = self.dice.below(self.plan.actors as u64) as usize;
        let is_drive = actor < self.plan.drives;
        match self.dice.below(100) {
            0..78 if is_drive => {
                let op = self.draft_op(actor);
                self.push(actor, op);
            }
            78..83 if is_drive => self.copy_in(actor),
            78..85 => self.upload(actor),
            85..97 => {
                if let Some(op) = self.model_op(actor, is_drive) {
                    self.push(actor, op);
                }
            }
            97..100 if self.plan.has_kills && is_drive => {
                let ops = [Op::Remount, Op::Kill, Op::KillService];
                let op = self.dice.pick(&ops).expect("one");
                self.push(actor, op);
            }
            _ => {}
        }
    }

    fn fault(&mut self) -> Fault {
        let faults = [
            Fault::Busy,
            Fault::DropBefore,
            Fault::DropAfter,
            Fault::CutReply,
            Fault::Slow,
        ];
        self.dice.pick(&faults).expect("one")
    }

    fn stop(&mut self) -> Stop {
        let process = match self.dice.chance(70) {
            true => Process::Drive,
            false => Process::Service,
        };
        let (after, length) = (self.dice.below(8), self.dice.pick(&[5, 40, 300]));
        let length = length.expect("one");
        Stop {
            process,
            after,
            length,
        }
    }

    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn text(&mut self) -> Content {
        Content::Text(self.dice.below(200) as u32)
    }

    /// A name of the actor's own, whether something has it or not.
    fn name(&mut self, actor: ActorId) -> String {
        let user = ["n", "m", "p", "q"][actor + self.plan.user];
        format!("{user}{}", self.dice.below(5))
    }

    /// A path in a draft, mostly of what is there.
    fn path(&mut self, actor: ActorId) -> String {
        let known: Vec<String> = self
            .model
            .drafts
            .iter()
            .filter(|((of, _), _)| *of == actor)
            .flat_map(|((_, name), files)| files.keys().map(move |path| format!("{name}/{path}")))
            .collect();
        if self.dice.chance(60)
            && let Some(path) = self.dice.pick(&known)
        {
            return path;
        }
        self.fresh_path(actor)
    }

    fn fresh_path(&mut self, actor: ActorId) -> String {
        let drafts: Vec<String> = self
            .model
            .drafts
            .keys()
            .filter(|(of, _)| *of == actor)
            .map(|(_, name)| name.clone())
            .collect();
        let name = match self.dice.chance(90) {
            true => self.dice.pick(&drafts),
            false => None,
        };
        let name = name.unwrap_or_else(|| self.name(actor));
        let parts = [
            "a.txt",
            "b.txt",
            "s",
            "s/a.txt",
            "s/b.bin",
            "s/t",
            "s/t/a.txt",
        ];
        format!("{name}/{}", self.dice.pick(&parts).expect("one"))
    }

    fn draft_op(&mut self, actor: ActorId) -> Op {
        match self.dice.below(100) {
            0..8 => Op::MakeDir(self.name(actor)),
            8..20 => Op::MakeDir(self.path(actor)),
            20..45 => Op::Write(self.path(actor), self.text()),
            45..55 => {
                let number = self.dice.below(200) as u32 + 1;
                Op::Append(self.path(actor), Content::Text(number))
            }
            55..60 => {
                let number = self.dice.below(200) as u32 + 1;
                let at = self.dice.below(900);
                Op::Overwrite(self.path(actor), at, Content::Text(number))
            }
            60..65 => Op::Truncate(self.path(actor), self.dice.below(900)),
            65..82 => {
                let from = self.path(actor);
                let to = match self.dice.chance(50) {
                    true => self.path(actor),
                    false => self.fresh_path(actor),
                };
                Op::Rename(from, to)
            }
            82..85 => Op::Rename(self.name(actor), self.name(actor)),
            85..93 => Op::RemoveFile(self.path(actor)),
            93..97 => Op::RemoveDir(self.path(actor)),
            _ => Op::RemoveAll(self.name(actor)),
        }
    }

    /// A model is copied in and sent, with other steps between.
    fn copy_in(&mut self, actor: ActorId) {
        let name = self.name(actor);
        let number = self.number();
        let is_new = !self.model.drafts.contains_key(&(actor, name.clone()));
        if is_new {
            self.push(actor, Op::MakeDir(name.clone()));
        }
        self.push(
            actor,
            Op::Write(format!("{name}/model.gltf"), Content::Model(number)),
        );
        if self.dice.chance(30) {
            let text = self.text();
            self.push(actor, Op::Write(format!("{name}/a.txt"), text));
        }
        match self.dice.below(100) {
            0..15 => {}
            15..25 => self.push(actor, Op::CommitAndRemove(name)),
            _ => self.push(actor, Op::Commit(name)),
        }
    }

    fn upload(&mut self, actor: ActorId) {
        let name = self.name(actor);
        let mut files = vec![("model.gltf".to_owned(), Content::Model(self.number()))];
        if self.dice.chance(30) {
            files.push(("a.txt".to_owned(), self.text()));
        }
        self.push(actor, Op::Upload(name, files));
    }

    fn tags(&mut self) -> BTreeSet<String> {
        let tags = ["oak", "red", "a b", "2,5"];
        let mut chosen = BTreeSet::new();
        for tag in tags {
            if self.dice.chance(40) {
                chosen.insert(tag.to_owned());
            }
        }
        chosen
    }

    fn model_op(&mut self, actor: ActorId, is_drive: bool) -> Option<Op> {
        let models: Vec<String> = self.model.models.keys().cloned().collect();
        let model = self.dice.pick(&models).unwrap_or_default();
        let texts: Vec<String> = match self.model.models.get(&model) {
            Some(model) => model.texts.keys().cloned().collect(),
            None => Vec::new(),
        };
        let text = self.dice.pick(&texts);
        let own: Vec<String> = texts
            .into_iter()
            .filter(|it| Model::is_own_text(actor, it))
            .collect();
        let own_text = self.dice.pick(&own);
        let presets: Vec<String> = self.model.presets.keys().cloned().collect();
        let preset = self.dice.pick(&presets);
        let new_text = format!("{}{actor}", self.dice.pick(&["web", "phone"])?);
        let new_preset = format!("preset{}{}", self.plan.user, self.dice.below(4));
        Some(match self.dice.below(100) {
            0..30 => {
                let config = Content::Config(self.dice.below(5) as u32);
                match is_drive {
                    true => Op::Optimize(model, new_text, config),
                    false => Op::Order(model, config),
                }
            }
            30..38 if is_drive => Op::Embed(model, text?, "viewer".into()),
            38..52 => Op::Tag(model, self.tags()),
            52..58 if is_drive => Op::TagResult(model, text?, self.tags()),
            58..66 => Op::RemoveAll(model),
            66..72 if is_drive => {
                let number = self.number();
                Op::Replace(model, Content::Model(number))
            }
            72..76 if is_drive => self.again(&model)?,
            76..90 => Op::WritePreset(new_preset, Content::Config(self.dice.below(90) as u32)),
            90..92 if is_drive => Op::RemoveText(model, own_text?),
            92..94 if is_drive => Op::DismissErrors(model),
            92..96 => Op::RemovePreset(preset?),
            _ if is_drive => {
                let is_free = !self.model.presets.contains_key(&new_preset);
                is_free.then_some(Op::RenamePreset(preset?, new_preset))?
            }
            _ => return None,
        })
    }

    /// A file of a model is copied in again, or something else is written over it.
    fn again(&mut self, model: &str) -> Option<Op> {
        let files = self.model.models.get(model)?.files.clone();
        let files: Vec<(String, Node)> = files.into_iter().collect();
        let (path, _) = self.dice.pick(&files)?;
        let path = format!("{model}/{path}");
        Some(match self.dice.below(4) {
            0 => Op::Write(path, Content::Model(0)),
            1 => Op::Append(path, Content::Text(3)),
            2 => Op::MakeDir(path),
            _ => Op::Rename(path, format!("{model}/other")),
        })
    }
}

/// The shortest part of the steps that still fails, as far as removing steps finds it within so many runs.
pub fn shrunk<T: Clone>(steps: Vec<T>, mut runs: usize, fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut left = steps;
    let mut piece = left.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < left.len() && runs > 0 {
            let mut without = left.clone();
            without.drain(at..(at + piece).min(left.len()));
            runs -= 1;
            match fails(&without) {
                true => left = without,
                false => at += piece,
            }
        }
        piece /= 2;
    }
    left
}

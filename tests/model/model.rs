//! The naive model: what `docs/semantics.md` says that one account holds, as plain maps.
//!
//! [`Model::apply`] predicts the error number of each operation and changes the maps. It knows nothing of journals, caches
//! and requests. What is not predicted (when an upload ends) is not compared until it has ended.

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;

use crate::content::Content;
use crate::files::{self, Files, Node, check_parent, file, is_below, split};
use crate::history::{ActorId, Op};
use crate::results::{Optimized, Results};
use crate::world::FAILURE;

pub type Outcome = Result<(), Errno>;

/// A model that the service has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Tells apart models that had the same name one after another.
    pub serial: u32,
    /// Who copied it in.
    pub by: ActorId,
    pub files: Files,
    pub tags: BTreeSet<String>,
    /// The texts in `optimize/`, by their names without extension.
    pub texts: BTreeMap<String, Content>,
    /// Those that the machine that copied them in has removed: on the others they stay.
    left: BTreeMap<String, Content>,
    /// What the `ERROR.txt` in `optimize/` said when an actor removed it.
    dismissed: BTreeMap<ActorId, Vec<String>>,
}

impl Finished {
    /// The texts that an actor sees.
    pub fn shown_texts(&self, actor: ActorId) -> impl Iterator<Item = (&String, &Content)> {
        let of_others = move |(name, _): &(&String, _)| !Model::is_own_text(actor, name);
        self.texts.iter().chain(self.left.iter().filter(of_others))
    }

    /// The lines of the `ERROR.txt` in `optimize/`; empty if there is none.
    pub fn errors(&self, actor: ActorId) -> Vec<String> {
        let own = self
            .texts
            .iter()
            .filter(|(name, text)| text.fails() && Model::is_own_text(actor, name));
        let lines: Vec<String> = own
            .map(|(name, _)| format!("{name}.json: {FAILURE}"))
            .collect();
        match self.dismissed.get(&actor) {
            Some(old) if lines.iter().all(|line| old.contains(line)) => Vec::new(),
            _ => lines,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    pub text: Content,
    /// Who wrote this text; others see indented JSON.
    pub by: BTreeSet<ActorId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    pub drafts: BTreeMap<(ActorId, String), Files>,
    pub models: BTreeMap<String, Finished>,
    /// Versions that were replaced; each is shown as `NAME~ID`.
    pub replaced: Vec<(String, Finished)>,
    pub results: Results,
    pub presets: BTreeMap<String, Preset>,
    serials: u32,
}

/// What is at a path below `rawmodels/`.
enum At<'a> {
    Draft(&'a mut Files, String),
    Model(&'a Finished, String),
    Nothing,
}

impl Model {
    /// Predicts what an operation of an actor returns, and does it.
    pub fn apply(&mut self, actor: ActorId, op: &Op) -> Outcome {
        match op {
            Op::MakeDir(path) => self.make_dir(actor, path),
            Op::Write(path, content) => self.write(actor, path, content),
            Op::Append(path, content) => self.change(actor, path, |bytes| {
                bytes.extend(content.bytes());
            }),
            Op::Overwrite(path, at, content) => self.change(actor, path, |bytes| {
                let (new, at) = (content.bytes(), *at as usize);
                bytes.resize(bytes.len().max(at + new.len()), 0);
                bytes[at..at + new.len()].copy_from_slice(&new);
            }),
            Op::Truncate(path, len) => self.change(actor, path, |bytes| {
                bytes.resize(*len as usize, 0);
            }),
            Op::Rename(from, to) => self.rename(actor, from, to),
            Op::RemoveFile(path) => self.remove_file(actor, path),
            Op::RemoveDir(path) => self.remove_dir(actor, path),
            Op::RemoveAll(name) => self.remove_all(actor, name),
            Op::Upload(name, files) => {
                let node = |(path, content): &(String, Content)| {
                    (path.clone(), Node::File(content.bytes()))
                };
                let model = self.finished(actor, files.iter().map(node).collect());
                self.models.insert(name.clone(), model);
                Ok(())
            }
            Op::Commit(name) => self.commit(actor, name),
            Op::CommitAndRemove(name) => {
                let removed = self.drafts.remove(&(actor, name.clone()));
                removed.map(drop).ok_or(Errno::NOENT)
            }
            Op::Optimize(model, name, text) => self.optimize(actor, model, name, text),
            Op::Order(model, text) => {
                let source = self.models.get(model).ok_or(Errno::NOENT)?.serial;
                self.results.order(source, text);
                Ok(())
            }
            Op::RemoveText(model, name) => {
                let model = self.models.get_mut(model).ok_or(Errno::NOENT)?;
                let text = model.texts.remove(name).ok_or(Errno::NOENT)?;
                model.left.insert(name.clone(), text);
                Ok(())
            }
            Op::DismissErrors(model) => {
                let model = self.models.get_mut(model).ok_or(Errno::NOENT)?;
                let lines = model.errors(actor);
                if lines.is_empty() {
                    return Err(Errno::NOENT);
                }
                model.dismissed.insert(actor, lines);
                Ok(())
            }
            Op::Embed(model, text, name) => {
                let result = self.result_mut(model, text)?;
                result.embeds.entry(name.clone()).or_default().insert(actor);
                Ok(())
            }
            Op::Tag(model, tags) => {
                self.models.get_mut(model).ok_or(Errno::NOENT)?.tags = tags.clone();
                Ok(())
            }
            Op::TagResult(model, text, tags) => {
                self.result_mut(model, text)?.tags = tags.clone();
                Ok(())
            }
            Op::Replace(name, content) => self.replace(actor, name, content),
            Op::WritePreset(name, text) => {
                let old = self.presets.remove(name).filter(|old| old.text == *text);
                let mut by = old.map_or_else(BTreeSet::new, |old| old.by);
                by.insert(actor);
                let text = text.clone();
                self.presets.insert(name.clone(), Preset { text, by });
                Ok(())
            }
            Op::RemovePreset(name) => self.presets.remove(name).map(drop).ok_or(Errno::NOENT),
            Op::RenamePreset(from, to) => {
                let content = self.presets.remove(from).ok_or(Errno::NOENT)?;
                self.presets.insert(to.clone(), content);
                Ok(())
            }
            Op::Faulty(_, op) | Op::Stopped(_, op) | Op::Full(op) => self.apply(actor, op),
            Op::Remount | Op::Kill | Op::KillService => Ok(()),
        }
    }

    /// Adds what users with names of their own have done.
    pub fn add(&mut self, other: Model) {
        let serials = self.serials;
        let moved = |mut finished: Finished| {
            finished.serial += serials;
            finished
        };
        self.drafts.extend(other.drafts);
        let models = other.models.into_iter();
        self.models
            .extend(models.map(|(name, it)| (name, moved(it))));
        let replaced = other.replaced.into_iter();
        self.replaced
            .extend(replaced.map(|(name, it)| (name, moved(it))));
        self.results.add(other.results, serials);
        self.presets.extend(other.presets);
        self.serials += other.serials;
    }

    /// Whether the model says what an operation does. Not covered: single files that are removed in a model (they are hidden
    /// for a while), and texts that have the name of a model.
    pub fn covers(&self, actor: ActorId, op: &Op) -> bool {
        let is_model = |path: &str| self.models.contains_key(split(path).0);
        let draft = |name: &str| self.drafts.get(&(actor, name.to_owned()));
        match op {
            Op::Faulty(_, op) | Op::Stopped(_, op) | Op::Full(op) => self.covers(actor, op),
            Op::RemoveFile(path) | Op::RemoveDir(path) => !is_model(path),
            // A shell may close an empty duplicate before it writes, so this is no error.
            Op::Truncate(path, 0) | Op::Write(path, Content::Text(0)) if is_model(path) => false,
            Op::Write(path, content) => {
                Content::is_model_name(path) == matches!(content, Content::Model(_))
                    || is_model(path)
            }
            Op::Append(path, _) | Op::Overwrite(path, ..) | Op::Truncate(path, _) => {
                !Content::is_model_name(path) || is_model(path)
            }
            Op::Rename(from, to) => {
                let is_of_one = split(from).0 == split(to).0 && from != to;
                // For what is below the target the kernel answers before the drive is asked.
                (!is_model(to) || is_of_one)
                    && !is_below(from, to)
                    && Content::is_model_name(from) == Content::is_model_name(to)
            }
            Op::CommitAndRemove(name) => {
                draft(name).is_some_and(|files| files.keys().any(|it| Content::is_model_name(it)))
            }
            Op::RemoveAll(name) => {
                self.drafts.contains_key(&(actor, name.clone())) || is_model(name)
            }
            Op::Replace(name, _) => draft(name).is_none(),
            Op::Upload(name, _) => draft(name).is_none() && !is_model(name),
            Op::Tag(name, _) | Op::Optimize(name, ..) | Op::DismissErrors(name) => is_model(name),
            // Which of two equal results a text has is open.
            Op::Order(name, text) => {
                let model = self.models.get(name);
                model.is_some_and(|model| self.results.find(model.serial, text).is_none())
            }
            Op::Embed(name, text, _)
            | Op::TagResult(name, text, _)
            | Op::RemoveText(name, text) => {
                let model = self.models.get(name);
                model.is_some_and(|model| model.texts.contains_key(text))
            }
            Op::RenamePreset(_, to) => !self.presets.contains_key(to),
            _ => true,
        }
    }

    fn at(&mut self, actor: ActorId, path: &str) -> At<'_> {
        let (name, rest) = split(path);
        if let Some(files) = self.drafts.get_mut(&(actor, name.to_owned())) {
            return At::Draft(files, rest.to_owned());
        }
        match self.models.get(name) {
            Some(model) => At::Model(model, rest.to_owned()),
            None => At::Nothing,
        }
    }

    fn files(&self, actor: ActorId, name: &str) -> Option<&Files> {
        let draft = self.drafts.get(&(actor, name.to_owned()));
        draft.or_else(|| Some(&self.models.get(name)?.files))
    }

    fn make_dir(&mut self, actor: ActorId, path: &str) -> Outcome {
        match self.at(actor, path) {
            At::Draft(files, rest) => files::make_dir(files, &rest),
            At::Model(_, rest) if rest.is_empty() => Err(Errno::EXIST),
            At::Model(model, rest) => {
                check_parent(&model.files, &rest)?;
                match model.files.contains_key(&rest) {
                    true => Err(Errno::EXIST),
                    false => Err(Errno::ROFS),
                }
            }
            At::Nothing if path.contains('/') => Err(Errno::NOENT),
            At::Nothing => {
                self.drafts.insert((actor, path.to_owned()), Files::new());
                Ok(())
            }
        }
    }

    fn write(&mut self, actor: ActorId, path: &str, content: &Content) -> Outcome {
        match self.at(actor, path) {
            At::Draft(files, rest) => files::write(files, &rest, content.bytes()),
            At::Model(model, rest) => {
                check_parent(&model.files, &rest)?;
                match model.files.get(&rest) {
                    // The same bytes may be copied in again on the machine that copied them in.
                    Some(Node::File(bytes)) if model.by == actor && *bytes == content.bytes() => {
                        Ok(())
                    }
                    Some(Node::Folder) => Err(Errno::ISDIR),
                    _ => Err(Errno::ROFS),
                }
            }
            At::Nothing => Err(Errno::NOENT),
        }
    }

    fn change(&mut self, actor: ActorId, path: &str, how: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        match self.at(actor, path) {
            At::Draft(files, rest) => {
                how(file(files, &rest)?);
                Ok(())
            }
            At::Model(model, rest) => {
                file(&mut model.files.clone(), &rest)?;
                Err(Errno::ROFS)
            }
            At::Nothing => Err(Errno::NOENT),
        }
    }

    fn rename(&mut self, actor: ActorId, from: &str, to: &str) -> Outcome {
        let (from_name, from_rest) = split(from);
        let (to_name, to_rest) = split(to);
        let from_key = (actor, from_name.to_owned());
        let to_key = (actor, to_name.to_owned());
        // The kernel looks both folders up first.
        let source = self.files(actor, from_name).ok_or(Errno::NOENT)?;
        check_parent(source, from_rest)?;
        if !to_rest.is_empty() {
            check_parent(self.files(actor, to_name).ok_or(Errno::NOENT)?, to_rest)?;
        }
        let moved = match from_rest {
            "" => Node::Folder,
            rest => source.get(rest).ok_or(Errno::NOENT)?.clone(),
        };
        if is_below(to, from) {
            return Err(Errno::INVAL);
        }
        if self.models.contains_key(from_name) {
            return Err(Errno::PERM);
        }
        if from == to {
            return Ok(());
        }
        files::check_replaced(&moved, self.drafts.get(&to_key), to_rest)?;
        let taken = match from_rest {
            "" => self.drafts.remove(&from_key).unwrap_or_default(),
            rest => files::take(self.drafts.get_mut(&from_key).expect("a draft"), rest),
        };
        files::put(self.drafts.entry(to_key).or_default(), to_rest, taken);
        Ok(())
    }

    fn remove_file(&mut self, actor: ActorId, path: &str) -> Outcome {
        match self.at(actor, path) {
            At::Draft(files, rest) => {
                file(files, &rest)?;
                files.remove(&rest);
                Ok(())
            }
            // Not made by the generator: it is hidden for a while.
            At::Model(..) => Ok(()),
            At::Nothing => Err(Errno::NOENT),
        }
    }

    fn remove_dir(&mut self, actor: ActorId, path: &str) -> Outcome {
        let key = (actor, split(path).0.to_owned());
        match self.at(actor, path) {
            At::Draft(files, rest) if rest.is_empty() => match files.is_empty() {
                true => {
                    self.drafts.remove(&key);
                    Ok(())
                }
                false => Err(Errno::NOTEMPTY),
            },
            At::Draft(files, rest) => files::remove_dir(files, &rest),
            At::Model(..) => Ok(()),
            At::Nothing => Err(Errno::NOENT),
        }
    }

    fn remove_all(&mut self, actor: ActorId, name: &str) -> Outcome {
        let draft = self.drafts.remove(&(actor, name.to_owned())).is_some();
        match draft || self.models.remove(name).is_some() {
            true => Ok(()),
            false => Err(Errno::NOENT),
        }
    }

    fn commit(&mut self, actor: ActorId, name: &str) -> Outcome {
        let key = (actor, name.to_owned());
        let Some(files) = self.drafts.get(&key) else {
            // What is committed already needs no second time.
            return match self.models.contains_key(name) {
                true => Ok(()),
                false => Err(Errno::NOENT),
            };
        };
        if !files.keys().any(|path| Content::is_model_name(path)) {
            return Err(Errno::INVAL);
        }
        let files = self.drafts.remove(&key).expect("a draft");
        let model = self.finished(actor, files);
        self.models.insert(name.to_owned(), model);
        Ok(())
    }

    fn finished(&mut self, by: ActorId, files: Files) -> Finished {
        self.serials += 1;
        Finished {
            serial: self.serials,
            by,
            files,
            tags: BTreeSet::new(),
            texts: BTreeMap::new(),
            left: BTreeMap::new(),
            dismissed: BTreeMap::new(),
        }
    }

    fn optimize(&mut self, actor: ActorId, model: &str, name: &str, text: &Content) -> Outcome {
        let model = self.models.get_mut(model).ok_or(Errno::NOENT)?;
        model.left.remove(name);
        model.texts.insert(name.to_owned(), text.clone());
        self.results.ask(actor, model.serial, text);
        Ok(())
    }

    /// What the link of a text leads to.
    fn result_mut(&mut self, model: &str, text: &str) -> Result<&mut Optimized, Errno> {
        let model = self.models.get(model).ok_or(Errno::NOENT)?;
        let text = model.texts.get(text).ok_or(Errno::NOENT)?;
        let result = self.results.find_mut(model.serial, text);
        result.filter(|_| !text.fails()).ok_or(Errno::NOENT)
    }

    fn replace(&mut self, actor: ActorId, name: &str, content: &Content) -> Outcome {
        let old = self.models.get(name).ok_or(Errno::NOENT)?.clone();
        let files = Files::from([("model.gltf".to_owned(), Node::File(content.bytes()))]);
        // The same files are the same version.
        if old.by == actor && old.files == files {
            return Ok(());
        }
        let new = self.finished(actor, files);
        self.models.insert(name.to_owned(), new);
        self.replaced.push((name.to_owned(), old));
        Ok(())
    }

    /// Whether an actor copied a text in: the names of texts end in the number of who did.
    pub fn is_own_text(actor: ActorId, text: &str) -> bool {
        text.ends_with(&actor.to_string())
    }

    /// Points that were paid: a result each.
    pub fn points(&self) -> u64 {
        self.results.iter().count() as u64
    }
}

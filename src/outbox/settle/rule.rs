//! When a copy has ended: a pure function of what is in the draft, who still writes, and the clock.
//!
//! [`readiness`] judges the content alone, for a commit by hand; [`verdict`] adds the quiet that a
//! commit by itself waits for. Nothing here reads a file or a clock.

use std::collections::BTreeSet;
use std::time::Duration;

use super::references::Reference;
use super::wholeness::Wholeness;
use crate::outbox::draft::names;
use crate::outbox::error::OutboxError;
use crate::outbox::types::DraftKind;

/// What is known of one file of a draft that is not junk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// Its path from the draft's folder.
    pub path: String,
    /// Its length.
    pub size: u64,
    /// What its bytes tell.
    pub state: BytesState,
    /// The files it names.
    pub references: Vec<Reference>,
}

/// What the bytes of a file tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BytesState {
    /// Whole, as far as its format tells.
    Whole,
    /// Some are missing.
    Short {
        /// How many there should be, where that is known.
        expected: Option<u64>,
    },
    /// Whoever wrote it never closed it.
    Interrupted,
    /// A write failed.
    WriteFailed,
}

impl From<Wholeness> for BytesState {
    fn from(wholeness: Wholeness) -> BytesState {
        match wholeness {
            Wholeness::Whole => BytesState::Whole,
            Wholeness::Short { expected } => BytesState::Short { expected },
        }
    }
}

/// What is in a draft, for the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFacts {
    /// Folder or loose file.
    pub kind: DraftKind,
    /// Files that may be sent.
    pub files: Vec<FileFacts>,
    /// Files with a name that says they are not finished.
    pub in_flight: Vec<String>,
    /// A version control folder it holds.
    pub version_control: Option<String>,
    /// Files that somebody has open for writing.
    pub being_written: Vec<String>,
}

/// The content of a draft is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyContent {
    /// References that lead nowhere.
    pub missing: Vec<String>,
    /// True when references tell that the model is whole.
    pub references_tell: bool,
}

/// Why a draft cannot be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// There is nothing in it that is sent.
    Empty,
    /// Files, but no model.
    NoModel,
    /// A loose file that cannot stand alone.
    NeedsFolder {
        /// Why, as a sentence.
        why: String,
    },
    /// Somebody has a file open for writing.
    BeingWritten(String),
    /// A file has a name that says it is not finished.
    InFlight(String),
    /// A file is not whole; the text says which and how.
    NotWhole(String),
}

impl Obstacle {
    /// The line that the draft's status shows.
    pub fn status_text(&self) -> String {
        match self {
            Obstacle::Empty => "draft".to_owned(),
            Obstacle::NoModel => "draft: no model file yet".to_owned(),
            Obstacle::NeedsFolder { why } => format!("draft: {why}"),
            Obstacle::BeingWritten(path) => format!("draft: {path} is being written"),
            Obstacle::InFlight(path) => format!("draft: {path} is a temporary file of a copy"),
            Obstacle::NotWhole(what) => format!("incomplete: {what}"),
        }
    }

    /// What a commit by hand says.
    pub fn sentence(&self) -> String {
        match self {
            Obstacle::Empty => "there is nothing in it to send".to_owned(),
            Obstacle::NoModel => "it holds no model file".to_owned(),
            Obstacle::NeedsFolder { why } => why.clone(),
            Obstacle::BeingWritten(path) => format!("{path} is still being written"),
            Obstacle::InFlight(path) => format!("{path} is a file that a copy has not finished"),
            Obstacle::NotWhole(what) => what.clone(),
        }
    }

    /// The error of a commit by hand.
    pub fn into_error(self) -> OutboxError {
        let what = self.sentence();
        match self {
            Obstacle::Empty | Obstacle::NoModel | Obstacle::NeedsFolder { .. } => {
                OutboxError::NothingToSend(what)
            }
            Obstacle::BeingWritten(_) | Obstacle::InFlight(_) | Obstacle::NotWhole(_) => {
                OutboxError::NotWhole { what }
            }
        }
    }

    /// True when `commit --force` may go over it.
    pub fn yields_to_force(&self) -> bool {
        matches!(
            self,
            Obstacle::InFlight(_) | Obstacle::NotWhole(_) | Obstacle::NoModel
        )
    }
}

/// Judges what is in a draft, whatever the clock says.
pub fn readiness(facts: &DraftFacts) -> Result<ReadyContent, Obstacle> {
    if let Some(path) = facts.being_written.first() {
        return Err(Obstacle::BeingWritten(path.clone()));
    }
    if let Some(path) = facts.in_flight.first() {
        return Err(Obstacle::InFlight(path.clone()));
    }
    if facts.files.is_empty() {
        return Err(Obstacle::Empty);
    }
    if facts.kind == DraftKind::LooseFile {
        can_stand_alone(facts)?;
    }
    if !facts.files.iter().any(|file| names::is_model(&file.path)) {
        return Err(Obstacle::NoModel);
    }
    every_file_is_whole(facts)?;
    let present: BTreeSet<&str> = facts.files.iter().map(|file| file.path.as_str()).collect();
    let mut missing = BTreeSet::new();
    for reference in facts.files.iter().flat_map(|file| &file.references) {
        if !reference
            .paths
            .iter()
            .any(|path| present.contains(path.as_str()))
        {
            missing.insert(reference.paths[0].clone());
        }
    }
    let mut models = facts
        .files
        .iter()
        .filter(|file| names::is_model(&file.path));
    Ok(ReadyContent {
        missing: missing.into_iter().collect(),
        references_tell: models.all(|file| names::has_references(&file.path)),
    })
}

fn can_stand_alone(facts: &DraftFacts) -> Result<(), Obstacle> {
    let file = &facts.files[0];
    let needs_folder = |why: String| Err(Obstacle::NeedsFolder { why });
    if !names::is_self_contained(&file.path) {
        return needs_folder(format!(
            "{} is no model that stands alone, so it is kept and not sent; put it into a folder with its model",
            file.path
        ));
    }
    match file.references.first() {
        Some(reference) => needs_folder(format!(
            "{} needs {}; put both into a folder",
            file.path, reference.paths[0]
        )),
        None => Ok(()),
    }
}

fn every_file_is_whole(facts: &DraftFacts) -> Result<(), Obstacle> {
    for file in &facts.files {
        let path = &file.path;
        let what = match &file.state {
            BytesState::Whole => continue,
            BytesState::Interrupted => format!("the copy of {path} was interrupted"),
            BytesState::WriteFailed => format!("writing {path} failed"),
            BytesState::Short { .. } if file.size == 0 => format!("{path} is empty"),
            BytesState::Short {
                expected: Some(expected),
            } => short_of(path, file.size, *expected),
            BytesState::Short { expected: None } => format!("{path} stops in the middle"),
        };
        return Err(Obstacle::NotWhole(what));
    }
    let sized = facts.files.iter().flat_map(|file| &file.references);
    for reference in sized {
        let Some(min_len) = reference.min_len else {
            continue;
        };
        let named = facts
            .files
            .iter()
            .find(|file| reference.paths.contains(&file.path));
        if let Some(file) = named.filter(|file| file.size < min_len) {
            return Err(Obstacle::NotWhole(short_of(&file.path, file.size, min_len)));
        }
    }
    Ok(())
}

fn short_of(path: &str, size: u64, expected: u64) -> String {
    let (has, unit) = in_unit_of(size, expected);
    let (wants, _) = in_unit_of(expected, expected);
    if has == wants {
        return format!("{path} has {size} of {expected} bytes");
    }
    format!("{path} has {has} of {wants} {unit}")
}

/// `bytes` in the unit that suits `scale`.
fn in_unit_of(bytes: u64, scale: u64) -> (String, &'static str) {
    let (unit, name) = match scale {
        0..1_000 => (1, "bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let whole = bytes / unit;
    if unit == 1 || whole >= 10 {
        (whole.to_string(), name)
    } else {
        (format!("{whole}.{}", bytes % unit * 10 / unit), name)
    }
}

/// A length for people: `1.2 MB`.
pub fn human_size(bytes: u64) -> String {
    let (number, unit) = in_unit_of(bytes, bytes);
    format!("{number} {unit}")
}

/// Who wrote, and when it last stirred. Times count from any fixed point on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stir {
    /// The last change of anything in the draft.
    pub last_change: Duration,
    /// When the last of the writing processes was seen to have ended.
    pub writers_ended: Option<Duration>,
    /// The folder got its times set after the last change of content, as the last act of a copy.
    pub folder_times_set: bool,
}

/// The waiting times of the rule; all scale with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleTimes {
    /// References tell that all is there, and the writers have ended or set the folder's times.
    pub referenced_ended: Duration,
    /// References tell that all is there, and a writer lives.
    pub referenced_alive: Duration,
    /// Nothing tells that all is there, and the writers have ended or set the folder's times.
    pub other_ended: Duration,
    /// Nothing tells that all is there, and a writer lives.
    pub other_alive: Duration,
    /// What is added while a reference leads nowhere.
    pub missing: Duration,
}

impl SettleTimes {
    /// The times for a given first one: 2 s gives 2, 5, 15, 60 and 60 s.
    pub fn scaled(settle: Duration) -> SettleTimes {
        SettleTimes {
            referenced_ended: settle,
            referenced_alive: settle * 5 / 2,
            other_ended: settle * 15 / 2,
            other_alive: settle * 30,
            missing: settle * 30,
        }
    }

    fn quiet_for(&self, references_tell: bool, ended: bool) -> Duration {
        match (references_tell, ended) {
            (true, true) => self.referenced_ended,
            (true, false) => self.referenced_alive,
            (false, true) => self.other_ended,
            (false, false) => self.other_alive,
        }
    }
}

/// What is to be done with a draft now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The copy has ended: send it.
    Ready {
        /// What its owner should know.
        warning: Option<String>,
    },
    /// Nothing is in the way but time.
    WaitUntil {
        /// When to look again if nothing changes.
        at: Duration,
        /// The line that the draft's status shows.
        why: String,
    },
    /// Only a change, or a command, can help.
    Blocked {
        /// The line that the draft's status shows.
        why: String,
    },
}

/// Whether the copy has ended.
pub fn verdict(facts: &DraftFacts, stir: &Stir, times: &SettleTimes, now: Duration) -> Verdict {
    let content = match readiness(facts) {
        Ok(content) => content,
        Err(obstacle) => {
            return Verdict::Blocked {
                why: obstacle.status_text(),
            };
        }
    };
    if let Some(folder) = &facts.version_control {
        return Verdict::Blocked {
            why: format!("draft: holds {folder}, so it is sent by `assetfs commit` only"),
        };
    }
    let ended = stir.folder_times_set || stir.writers_ended.is_some();
    let from = match stir.writers_ended {
        Some(at) if !stir.folder_times_set => stir.last_change.max(at),
        _ => stir.last_change,
    };
    let quiet = from + times.quiet_for(content.references_tell, ended);
    let Some(first_missing) = content.missing.first() else {
        return at_or_ready(quiet, now, settling(quiet, now), None);
    };
    let all = content.missing.join(", ");
    let warning = format!("sent without {all}, which the model names and nobody copied in");
    let why = format!(
        "waiting for {first_missing}{}",
        and_more(content.missing.len())
    );
    at_or_ready(quiet + times.missing, now, why, Some(warning))
}

/// The warning for a commit by hand.
pub fn warning_for(content: &ReadyContent) -> Option<String> {
    (!content.missing.is_empty()).then(|| {
        format!(
            "sent without {}, which the model names and nobody copied in",
            content.missing.join(", ")
        )
    })
}

fn at_or_ready(at: Duration, now: Duration, why: String, warning: Option<String>) -> Verdict {
    if now >= at {
        Verdict::Ready { warning }
    } else {
        Verdict::WaitUntil { at, why }
    }
}

fn settling(until: Duration, now: Duration) -> String {
    let left = until.saturating_sub(now);
    format!("settling {} s", left.as_millis().div_ceil(1000).max(1))
}

fn and_more(missing: usize) -> String {
    match missing {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn file(path: &str) -> FileFacts {
        FileFacts {
            path: path.to_owned(),
            size: 100,
            state: BytesState::Whole,
            references: Vec::new(),
        }
    }

    fn naming(path: &str, names: &[&str]) -> FileFacts {
        let references = names
            .iter()
            .map(|name| Reference {
                paths: vec![(*name).to_owned()],
                min_len: None,
            })
            .collect();
        FileFacts {
            references,
            ..file(path)
        }
    }

    fn draft(files: Vec<FileFacts>) -> DraftFacts {
        DraftFacts {
            kind: DraftKind::Folder,
            files,
            in_flight: Vec::new(),
            version_control: None,
            being_written: Vec::new(),
        }
    }

    fn chair() -> DraftFacts {
        draft(vec![
            naming("chair.gltf", &["chair.bin"]),
            file("chair.bin"),
        ])
    }

    fn ended(at: u64) -> Stir {
        Stir {
            last_change: S(10),
            writers_ended: Some(S(at)),
            folder_times_set: false,
        }
    }

    fn judge(facts: &DraftFacts, stir: Stir, now: u64) -> Verdict {
        verdict(facts, &stir, &SettleTimes::scaled(S(2)), S(now))
    }

    fn wait(at: u64, why: &str) -> Verdict {
        Verdict::WaitUntil {
            at: S(at),
            why: why.to_owned(),
        }
    }

    fn blocked(why: &str) -> Verdict {
        Verdict::Blocked {
            why: why.to_owned(),
        }
    }

    const READY: Verdict = Verdict::Ready { warning: None };

    #[test]
    fn two_seconds_after_the_writing_processes_ended() {
        assert_eq!(judge(&chair(), ended(10), 11), wait(12, "settling 1 s"));
        assert_eq!(judge(&chair(), ended(10), 12), READY);
        // The process ended later than its last write: the time counts from its end.
        assert_eq!(judge(&chair(), ended(14), 15), wait(16, "settling 1 s"));
    }

    #[test]
    fn or_the_folder_got_its_times_set() {
        let stir = Stir {
            folder_times_set: true,
            writers_ended: None,
            ..ended(0)
        };
        assert_eq!(judge(&chair(), stir, 11), wait(12, "settling 1 s"));
        assert_eq!(judge(&chair(), stir, 12), READY);
    }

    #[test]
    fn five_seconds_while_one_lives() {
        let stir = Stir {
            writers_ended: None,
            ..ended(0)
        };
        assert_eq!(judge(&chair(), stir, 12), wait(15, "settling 3 s"));
        assert_eq!(judge(&chair(), stir, 15), READY);
    }

    #[test]
    fn else_fifteen_seconds_and_sixty() {
        let facts = draft(vec![file("chair.fbx"), file("wood.png")]);
        assert_eq!(judge(&facts, ended(10), 24), wait(25, "settling 1 s"));
        assert_eq!(judge(&facts, ended(10), 25), READY);
        let alive = Stir {
            writers_ended: None,
            ..ended(0)
        };
        assert_eq!(judge(&facts, alive, 69), wait(70, "settling 1 s"));
        assert_eq!(judge(&facts, alive, 70), READY);
    }

    #[test]
    fn settle_sets_the_first_and_scales_the_others() {
        let times = SettleTimes::scaled(S(4));
        let all = [
            times.referenced_ended,
            times.referenced_alive,
            times.other_ended,
            times.other_alive,
            times.missing,
        ];
        assert_eq!(all, [S(4), S(10), S(30), S(120), S(120)]);
    }

    #[test]
    fn references_missing_are_named_and_waited_for() {
        let facts = draft(vec![naming("chair.gltf", &["textures/wood.png"])]);
        assert_eq!(
            judge(&facts, ended(10), 12),
            wait(72, "waiting for textures/wood.png")
        );
        assert_eq!(
            judge(&facts, ended(10), 72),
            Verdict::Ready {
                warning: Some(
                    "sent without textures/wood.png, which the model names and nobody copied in"
                        .to_owned()
                )
            }
        );
        let two = draft(vec![naming("chair.gltf", &["b.png", "a.png"])]);
        assert_eq!(
            judge(&two, ended(10), 12),
            wait(72, "waiting for a.png and 1 more")
        );
    }

    #[test]
    fn what_is_in_the_way_is_said() {
        let short = |size, expected| {
            let state = BytesState::Short { expected };
            draft(vec![FileFacts {
                size,
                state,
                ..file("chair.glb")
            }])
        };
        let with = |change: fn(&mut DraftFacts)| {
            let mut facts = chair();
            change(&mut facts);
            facts
        };
        let table = [
            (draft(vec![]), "draft"),
            (draft(vec![file("readme.txt")]), "draft: no model file yet"),
            (
                short(47_000_000, Some(300_000_000)),
                "incomplete: chair.glb has 47 of 300 MB",
            ),
            (
                short(1_500_000, Some(2_500_000)),
                "incomplete: chair.glb has 1.5 of 2.5 MB",
            ),
            (
                short(299, Some(300)),
                "incomplete: chair.glb has 299 of 300 bytes",
            ),
            (
                short(9_999_999, Some(10_000_000)),
                "incomplete: chair.glb has 9.9 of 10 MB",
            ),
            (
                short(299_999_990, Some(300_000_000)),
                "incomplete: chair.glb has 299 of 300 MB",
            ),
            (short(0, None), "incomplete: chair.glb is empty"),
            (short(8, None), "incomplete: chair.glb stops in the middle"),
            (
                with(|facts| facts.being_written.push("chair.bin".to_owned())),
                "draft: chair.bin is being written",
            ),
            (
                with(|facts| facts.in_flight.push(".chair.bin.x7Gh2k".to_owned())),
                "draft: .chair.bin.x7Gh2k is a temporary file of a copy",
            ),
            (
                with(|facts| facts.version_control = Some(".git".to_owned())),
                "draft: holds .git, so it is sent by `assetfs commit` only",
            ),
            (
                with(|facts| facts.files[1].state = BytesState::Interrupted),
                "incomplete: the copy of chair.bin was interrupted",
            ),
            (
                with(|facts| facts.files[1].state = BytesState::WriteFailed),
                "incomplete: writing chair.bin failed",
            ),
            (
                with(|facts| facts.files[0].references[0].min_len = Some(101)),
                "incomplete: chair.bin has 100 of 101 bytes",
            ),
        ];
        for (facts, why) in table {
            assert_eq!(judge(&facts, ended(10), 100_000), blocked(why));
        }
    }

    #[test]
    fn a_loose_file_has_to_stand_alone() {
        let loose = |file| DraftFacts {
            kind: DraftKind::LooseFile,
            ..draft(vec![file])
        };
        assert_eq!(judge(&loose(file("chair.glb")), ended(10), 12), READY);
        assert_eq!(judge(&loose(file("chair.stl")), ended(10), 25), READY);
        assert_eq!(
            judge(&loose(naming("chair.gltf", &["chair.bin"])), ended(10), 100),
            blocked("draft: chair.gltf needs chair.bin; put both into a folder")
        );
        for name in ["chair.obj", "notes.txt"] {
            let Verdict::Blocked { why } = judge(&loose(file(name)), ended(10), 100) else {
                panic!("{name} is not sent alone");
            };
            assert!(why.contains("put it into a folder"), "{why}");
        }
    }

    #[test]
    fn force_goes_over_what_is_not_whole_and_never_over_a_writer() {
        assert!(Obstacle::NotWhole(String::new()).yields_to_force());
        assert!(!Obstacle::BeingWritten(String::new()).yields_to_force());
        assert!(!Obstacle::Empty.yields_to_force());
    }
}

//! What the outbox holds in memory, under one lock: the lasting state, what is open, who wrote, how
//! uploads come along. The lock is held for short work only: never over disk or network.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::error::{OutboxError, OutboxResult};
use super::jobs::book::JobKey;
use super::journal::record::{DraftRecord, Record, UploadRecord};
use super::journal::{Journal, Ticket};
use super::moment::Moment;
use super::process::{Process, Processes};
use super::settle::inspect::Findings;
use super::settle::rule::Stir;
use super::staging::{Content, ContentId};
use super::state::{Draft, State};
use super::types::{
    Caller, DraftId, DraftInfo, DraftKind, DraftPhase, EntryId, EntryInfo, EntryKind,
};
use crate::client::ClientError;

/// Everything in memory.
#[derive(Debug)]
pub struct Core {
    /// What lasts.
    pub state: State,
    /// What is open.
    pub open: HashMap<ContentId, OpenContent>,
    /// What looking into files has told.
    pub findings: Findings,
    /// Contents to be removed from disk once the ticket is durable.
    pub doomed: Vec<(Ticket, ContentId)>,
    /// Attempts whose start is being asked for right now.
    pub starting: HashSet<u64>,
    /// How far rapid models are, by submission.
    pub job_progress: HashMap<String, u8>,
    /// Jobs that a task works on.
    pub job_tasks: BTreeMap<JobKey, JobTask>,
    /// Submissions that are being sent or looked for.
    pub job_calls: HashSet<String>,
    activity: HashMap<DraftId, Activity>,
    processes: Processes,
    journal: Arc<Journal>,
}

/// A content that has handles.
#[derive(Debug)]
pub struct OpenContent {
    /// The bytes.
    pub content: Arc<Content>,
    /// The entry it belongs to.
    pub entry: EntryId,
    /// All handles.
    pub handles: usize,
    /// Those that may write.
    pub writers: usize,
}

/// What happened to a draft lately.
#[derive(Debug, Default)]
pub struct Activity {
    /// The last change, on the outbox's clock.
    pub last_change: Duration,
    /// Raised by every change, so that whoever prepared something can tell.
    pub generation: u64,
    /// Those who wrote and may still live.
    pub writers: BTreeSet<Process>,
    /// All who ever wrote: their folder fsync only makes durable.
    pub all_writers: BTreeSet<Process>,
    /// When the last writer was seen to have ended.
    pub writers_ended: Option<Duration>,
    /// The folder got its times set as the last thing.
    pub folder_times_set: bool,
    /// The line that the settle rule gave.
    pub settle_text: String,
    /// What the service says that it does with the accepted upload.
    pub import_text: String,
    /// What keeps the upload from going on right now; it is tried again by itself.
    pub trouble: Option<Trouble>,
    /// What the last comparison with the service's files has found.
    pub comparison: Option<String>,
    /// The upload that is running.
    pub upload: Option<LiveUpload>,
}

/// What a task that sends a job waits for.
#[derive(Debug, Clone, Default)]
pub struct JobTask {
    /// The asset is not complete yet.
    pub waits_for_asset: bool,
    /// The service cannot be reached or refuses the token; it is tried again by itself.
    pub trouble: Option<ClientError>,
}

/// Something that keeps an upload from going on, and that may pass.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The service cannot be reached, or refuses the token.
    Service(ClientError),
    /// The account is too full.
    Quota {
        /// Bytes to send.
        needed: u64,
        /// Bytes that the account has left.
        left: u64,
    },
    /// The local disk refuses.
    Local(String),
}

impl Trouble {
    /// As a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Trouble::Service(error) => format!("{error}; it is tried again by itself"),
            Trouble::Quota { needed, left } => format!(
                "needs {} and the account has {} left; delete assets or enlarge the plan",
                super::settle::rule::human_size(*needed),
                super::settle::rule::human_size(*left),
            ),
            Trouble::Local(text) => text.clone(),
        }
    }
}

/// A running upload.
#[derive(Debug, Clone)]
pub struct LiveUpload {
    /// Bytes that the service took, over all objects.
    pub sent: Arc<AtomicU64>,
    /// Bytes of all objects.
    pub total: u64,
    /// Objects that the service has.
    pub files_sent: usize,
    /// All objects.
    pub files: usize,
    /// Set to stop it.
    pub stop: watch::Sender<bool>,
    /// Wakes it out of a pause.
    pub poke: Arc<Notify>,
}

impl LiveUpload {
    /// Returns when it is to stop.
    pub async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        // An error means that the sender is gone; this upload holds one itself.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// True when both are the same upload.
    pub fn is(&self, other: &LiveUpload) -> bool {
        Arc::ptr_eq(&self.sent, &other.sent)
    }
}

impl Core {
    /// A core around a replayed state.
    pub fn new(state: State, journal: Arc<Journal>, now: Duration) -> Core {
        let activity = state
            .drafts
            .keys()
            .map(|draft| (*draft, Activity::restarted(now)))
            .collect();
        Core {
            state,
            open: HashMap::new(),
            findings: Findings::default(),
            doomed: Vec::new(),
            starting: HashSet::new(),
            job_progress: HashMap::new(),
            job_tasks: BTreeMap::new(),
            job_calls: HashSet::new(),
            activity,
            processes: Processes::default(),
            journal,
        }
    }

    /// Makes a change and puts its record into the journal's line. Nothing changes on an error.
    pub fn record(&mut self, record: impl Into<Record>) -> OutboxResult<Ticket> {
        self.journal.check_room()?;
        let record = record.into();
        self.state
            .apply(&record)
            .map_err(|error| OutboxError::Journal {
                reason: error.to_string(),
                dir: String::new(),
            })?;
        let ticket = self.journal.push(&record);
        for content in std::mem::take(&mut self.state.freed) {
            self.findings.forget(content);
            self.doomed.push((ticket, content));
        }
        Ok(ticket)
    }

    /// A draft.
    pub fn draft(&self, draft: DraftId) -> OutboxResult<&Draft> {
        let found = self.state.drafts.get(&draft);
        found.ok_or_else(|| OutboxError::NotFound(format!("draft {draft}")))
    }

    /// What happened to a draft lately.
    pub fn activity(&mut self, draft: DraftId) -> &mut Activity {
        self.activity.entry(draft).or_default()
    }

    /// The same, for reading.
    pub fn activity_of(&self, draft: DraftId) -> Option<&Activity> {
        self.activity.get(&draft)
    }

    /// Forgets the activity of drafts that are gone.
    pub fn forget_gone(&mut self) {
        let drafts = &self.state.drafts;
        self.activity.retain(|draft, activity| {
            let there = drafts.contains_key(draft);
            if !there && let Some(upload) = &activity.upload {
                upload.stop.send_replace(true);
            }
            there
        });
    }

    /// Prepares a change of a draft's content: refuses it once the draft is frozen, and takes back
    /// an upload under way.
    pub fn begin_change(&mut self, draft: DraftId) -> OutboxResult<()> {
        let found = self.draft(draft)?;
        if found.is_frozen() {
            return Err(OutboxError::Frozen(found.name.clone()));
        }
        let attempt = found.attempt.as_ref().map(|attempt| attempt.number);
        if let Some(attempt) = attempt {
            self.record(UploadRecord::AttemptDropped { draft, attempt })?;
        }
        self.stop_upload(draft);
        Ok(())
    }

    /// Stops the upload task of a draft, if one runs.
    pub fn stop_upload(&mut self, draft: DraftId) {
        let activity = self.activity(draft);
        activity.generation += 1;
        activity.trouble = None;
        if let Some(upload) = activity.upload.take() {
            upload.stop.send_replace(true);
        }
    }

    /// Notes that the content of a draft changed, and who did it.
    pub fn stirred(&mut self, draft: DraftId, caller: Option<&Caller>, now: Duration) {
        let process = caller.map(|caller| self.processes.of(caller.pid, now));
        let activity = self.activity(draft);
        activity.last_change = now;
        activity.generation += 1;
        activity.folder_times_set = false;
        if let Some(process) = process {
            activity.writers.insert(process);
            activity.all_writers.insert(process);
        }
        // Without a writer to wait for, the change itself is the end.
        activity.writers_ended = activity.writers.is_empty().then_some(now);
    }

    /// Notes that attributes of the draft's own folder were set.
    pub fn folder_stirred(&mut self, draft: DraftId, times_set: bool, now: Duration) {
        let activity = self.activity(draft);
        activity.last_change = now;
        activity.folder_times_set |= times_set;
    }

    /// True when the caller's process wrote into the draft.
    pub fn wrote_into(&mut self, draft: DraftId, caller: &Caller, now: Duration) -> bool {
        let process = self.processes.of(caller.pid, now);
        self.activity(draft).all_writers.contains(&process)
    }

    /// Takes over who wrote, when a draft or a part of it moves into another.
    pub fn share_writers(&mut self, from: DraftId, to: DraftId) {
        let (writers, all) = match self.activity_of(from) {
            Some(activity) => (activity.writers.clone(), activity.all_writers.clone()),
            None => return,
        };
        let activity = self.activity(to);
        activity.writers.extend(writers);
        activity.all_writers.extend(all);
    }

    /// Looks which writers have ended, and gives what the settle rule asks.
    pub fn stir(&mut self, draft: DraftId, now: Duration) -> Stir {
        let activity = self.activity(draft);
        if activity.writers_ended.is_none() {
            activity.writers.retain(|process| process.is_alive());
            activity.writers_ended = activity.writers.is_empty().then_some(now);
        }
        Stir {
            last_change: activity.last_change,
            writers_ended: activity.writers_ended,
            folder_times_set: activity.folder_times_set,
        }
    }

    /// The draft that an entry is in now.
    pub fn home_of(&self, hint: DraftId, entry: EntryId) -> Option<DraftId> {
        let holds = |draft: &Draft| draft.tree.node(entry).is_some();
        if self.state.drafts.get(&hint).is_some_and(holds) {
            return Some(hint);
        }
        let mut drafts = self.state.drafts.iter();
        drafts.find(|(_, draft)| holds(draft)).map(|(id, _)| *id)
    }

    /// Paths of the files of a draft that somebody has open for writing.
    pub fn being_written(&self, draft: DraftId) -> Vec<String> {
        let Some(found) = self.state.drafts.get(&draft) else {
            return Vec::new();
        };
        let writing = self.open.values().filter(|open| open.writers > 0);
        let mut paths: Vec<String> = writing
            .filter(|open| found.tree.node(open.entry).is_some())
            .map(|open| found.tree.path(open.entry))
            .collect();
        paths.sort();
        paths
    }

    /// What an entry shows.
    pub fn entry_info(&self, draft: DraftId, entry: EntryId) -> Option<EntryInfo> {
        let found = self.state.drafts.get(&draft)?;
        let node = found.tree.node(entry)?;
        let mut info = EntryInfo {
            id: entry,
            parent: node.parent,
            name: node.name.clone(),
            kind: node.kind(),
            size: 0,
            mode: node.attributes.mode,
            uid: node.attributes.uid,
            gid: node.attributes.gid,
            mtime: node.attributes.mtime.into(),
            ctime: node.attributes.ctime.into(),
            subfolders: 0,
        };
        if entry == EntryId::ROOT {
            info.name.clone_from(&found.name);
        }
        if let Some(file) = node.file() {
            info.size = file.size;
            if let Some(open) = self.open.get(&file.content) {
                let (size, written_at) = open.content.size_and_time();
                info.size = size;
                if let Some(at) = written_at {
                    info.mtime = at.into();
                    info.ctime = Moment::max(at, node.attributes.ctime).into();
                }
            }
        }
        if let Some(children) = node.folder() {
            let is_folder = |id: &&EntryId| {
                found
                    .tree
                    .node(**id)
                    .is_some_and(|node| node.kind() == EntryKind::Folder)
            };
            info.subfolders = children.values().filter(is_folder).count() as u32;
        }
        Some(info)
    }

    /// What a draft shows.
    pub fn draft_info(&self, id: DraftId) -> Option<DraftInfo> {
        let draft = self.state.drafts.get(&id)?;
        let activity = self.activity_of(id);
        let trouble = activity.and_then(|activity| activity.trouble.as_ref());
        let failure = draft
            .failure
            .clone()
            .or_else(|| trouble.map(Trouble::sentence));
        Some(DraftInfo {
            id,
            name: draft.name.clone(),
            kind: draft.kind,
            phase: self.phase(id, draft),
            status_text: self.status_text(id, draft),
            asset: draft.accepted_asset(),
            warning: draft
                .warning
                .clone()
                .or_else(|| activity.and_then(|activity| activity.comparison.clone())),
            failure,
            size: draft.size(),
            created: draft.created.into(),
        })
    }

    fn phase(&self, id: DraftId, draft: &Draft) -> DraftPhase {
        use super::state::Stage;
        match draft.stage() {
            None => DraftPhase::Editing,
            Some(Stage::StartSent | Stage::Started { .. } | Stage::CompleteSent { .. }) => {
                DraftPhase::Uploading {
                    percent: self.percent(id),
                }
            }
            Some(Stage::Accepted { .. }) => DraftPhase::Accepted,
            Some(Stage::Imported { .. }) => DraftPhase::Complete,
            Some(Stage::ImportFailed { .. }) => DraftPhase::ImportFailed,
        }
    }

    /// Percent of the bytes that the service has.
    pub fn percent(&self, draft: DraftId) -> u8 {
        let upload = self
            .activity_of(draft)
            .and_then(|activity| activity.upload.as_ref());
        let Some(upload) = upload else { return 0 };
        let sent = upload.sent.load(std::sync::atomic::Ordering::Relaxed);
        if upload.total == 0 {
            return 0;
        }
        // The last percent belongs to the completion.
        (u128::from(sent) * 99 / u128::from(upload.total)).min(99) as u8
    }

    fn status_text(&self, id: DraftId, draft: &Draft) -> String {
        use super::state::Stage;
        if let Some(failure) = &draft.failure {
            return format!("failed: {failure}");
        }
        let activity = self.activity_of(id);
        let trouble = activity.and_then(|activity| activity.trouble.as_ref());
        let behind = trouble.map_or(String::new(), |it| format!(" ({})", it.sentence()));
        match draft.stage() {
            None if trouble.is_some() => format!("waiting{behind}"),
            None if draft.ordered.is_some() => "uploading 0%".to_owned(),
            None => match activity.map(|activity| activity.settle_text.as_str()) {
                None | Some("") => "draft".to_owned(),
                Some(text) => text.to_owned(),
            },
            Some(Stage::StartSent | Stage::Started { .. } | Stage::CompleteSent { .. }) => {
                format!("uploading {}%{behind}", self.percent(id))
            }
            Some(Stage::Accepted { .. }) => match activity.map(|it| it.import_text.as_str()) {
                None | Some("") => format!("analysing{behind}"),
                Some(text) => format!("{text}{behind}"),
            },
            Some(Stage::Imported { .. }) => "complete".to_owned(),
            Some(Stage::ImportFailed { .. }) => "failed: the import failed".to_owned(),
        }
    }

    /// Refuses to put anything beside the one file of a loose draft.
    pub fn check_holds_many(&self, draft: DraftId) -> OutboxResult<()> {
        let found = self.draft(draft)?;
        match found.kind {
            DraftKind::Folder => Ok(()),
            DraftKind::LooseFile => Err(OutboxError::NotAFolder(found.name.clone())),
        }
    }

    /// The record of an entry's attributes as they are to be.
    pub fn attributes_record(
        &self,
        draft: DraftId,
        entry: EntryId,
        change: &super::types::AttributeChange,
        now: Moment,
    ) -> OutboxResult<DraftRecord> {
        let node = self.draft(draft)?.tree.node(entry);
        let node = node.ok_or_else(|| OutboxError::NotFound(format!("entry {entry}")))?;
        let mut attributes = node.attributes;
        attributes.mode = change.mode.map_or(attributes.mode, |mode| mode & 0o7777);
        attributes.uid = change.uid.or(attributes.uid);
        attributes.gid = change.gid.or(attributes.gid);
        attributes.mtime = change.mtime.map_or(attributes.mtime, Moment::from);
        attributes.ctime = now;
        Ok(DraftRecord::AttributesSet {
            draft,
            entry,
            attributes,
        })
    }
}

impl Activity {
    /// A draft of an earlier run: nobody who wrote into it lives.
    fn restarted(now: Duration) -> Activity {
        Activity {
            last_change: now,
            writers_ended: Some(now),
            ..Activity::default()
        }
    }
}

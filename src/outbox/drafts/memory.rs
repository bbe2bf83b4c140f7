//! Drafts and uploads in memory: the durable state, open files, writers, the progress of uploads.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::outbox::drafts::activity::Activity;
use crate::outbox::drafts::draft::Draft;
use crate::outbox::drafts::info::{AttributeChange, DraftKind};
use crate::outbox::drafts::process::Processes;
use crate::outbox::drafts::record::{DraftRecord, UploadRecord};
use crate::outbox::drafts::settle::inspect::Findings;
use crate::outbox::drafts::settle::rule::WriterState;
use crate::outbox::drafts::state::{DraftsChange, DraftsState, ModelFate};
use crate::outbox::drafts::tree::Node;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::journal::{Journal, Ticket};
use crate::outbox::moment::Moment;
use crate::outbox::staging::{Content, ContentId};
use crate::wire::AssetId;

/// Called with each fate of a draft or asset, in the order of records, under the journal's lock.
pub type FateListener = Box<dyn Fn(ModelFate) + Send + Sync>;

pub struct DraftsMemory {
    /// The durable state.
    pub state: DraftsState,
    pub open: HashMap<ContentId, OpenContent>,
    pub findings: Findings,
    /// Bytes on the staging disk of the contents that were closed in this run.
    pub allocated: HashMap<ContentId, u64>,
    /// Contents to be removed from disk once the ticket is durable.
    pub pending_removals: Vec<(Ticket, ContentId)>,
    /// Why unwanted assets are not deleted yet.
    pub not_deleted: BTreeMap<AssetId, String>,
    /// Assets that drafts have dropped to send their files again, until they are deleted.
    pub dropped: HashSet<AssetId>,
    /// Assets that were given up here and stay for another machine, until that is reported.
    pub left: Vec<AssetId>,
    /// Attempts for which a start request is in flight.
    pub starting: HashSet<u64>,
    activity: HashMap<DraftId, Activity>,
    processes: Processes,
    journal: Arc<Journal>,
    on_fate: FateListener,
}

/// A staged content that is open.
pub struct OpenContent {
    pub content: Arc<Content>,
    /// The draft it was in when it was opened.
    pub draft: DraftId,
    pub entry: EntryId,
    /// All handles.
    pub handles: usize,
    /// Those that may write.
    pub writers: usize,
    /// The last state of a file that was removed or replaced while it is open. It can be used until it is closed, as on
    /// a local disk; nothing of it is recorded.
    pub removed: Option<Node>,
}

impl DraftsMemory {
    pub fn new(
        state: DraftsState,
        journal: Arc<Journal>,
        on_fate: FateListener,
        now: Duration,
    ) -> DraftsMemory {
        let activity = state
            .drafts
            .keys()
            .map(|draft| (*draft, Activity::restarted(now)))
            .collect();
        DraftsMemory {
            state,
            open: HashMap::new(),
            findings: Findings::default(),
            allocated: HashMap::new(),
            pending_removals: Vec::new(),
            not_deleted: BTreeMap::new(),
            dropped: HashSet::new(),
            left: Vec::new(),
            starting: HashSet::new(),
            activity,
            processes: Processes::default(),
            journal,
            on_fate,
        }
    }

    /// Makes a change and queues its record for the journal. Nothing changes on an error.
    pub fn record(&mut self, record: impl DraftsChange) -> OutboxResult<Ticket> {
        self.journal.check_space(&record)?;
        let mut open = match record.may_free() {
            true => self.open_nodes(),
            false => HashMap::new(),
        };
        let applied = record.apply_to(&mut self.state);
        for fate in std::mem::take(&mut self.state.fates) {
            if let ModelFate::AssetLeft(asset) = fate {
                self.left.push(asset);
            }
            (self.on_fate)(fate);
        }
        applied.map_err(|error| OutboxError::Journal {
            reason: error.to_string(),
            dir: String::new(),
        })?;
        let ticket = self.journal.push(&record);
        for content in std::mem::take(&mut self.state.freed) {
            self.findings.forget(content);
            self.allocated.remove(&content);
            if let Some(file) = self.open.get_mut(&content) {
                file.removed = open.remove(&content);
            }
            self.pending_removals.push((ticket, content));
        }
        Ok(ticket)
    }

    pub fn draft(&self, draft: DraftId) -> OutboxResult<&Draft> {
        let found = self.state.drafts.get(&draft);
        found.ok_or_else(|| OutboxError::NotFound(format!("draft {draft}")))
    }

    pub fn entry(&self, draft: DraftId, entry: EntryId) -> OutboxResult<&Node> {
        let node = self.draft(draft)?.tree.node(entry);
        node.ok_or_else(|| OutboxError::NotFound("the entry".to_owned()))
    }

    /// The nodes of all open files.
    fn open_nodes(&self) -> HashMap<ContentId, Node> {
        let node_of = |(content, open): (&ContentId, &OpenContent)| {
            let home = self.home_of(open.draft, open.entry)?;
            let node = self.entry(home, open.entry).ok()?;
            Some((*content, node.clone()))
        };
        self.open.iter().filter_map(node_of).collect()
    }

    /// A file that was removed while it is open.
    pub fn removed(&self, entry: EntryId) -> Option<&OpenContent> {
        let mut open = self.open.values();
        open.find(|open| open.entry == entry && open.removed.is_some())
    }

    /// Its last state, for a change.
    pub fn removed_mut(&mut self, entry: EntryId) -> Option<&mut Node> {
        let mut open = self.open.values_mut();
        let open = open.find(|open| open.entry == entry && open.removed.is_some());
        open?.removed.as_mut()
    }

    /// An entry, or the last state of one that was removed while it is open.
    pub fn entry_or_removed(&self, draft: DraftId, entry: EntryId) -> OutboxResult<&Node> {
        let removed = self.removed(entry).and_then(|open| open.removed.as_ref());
        removed.map_or_else(|| self.entry(draft, entry), Ok)
    }

    /// The recent activity of a draft.
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
                upload.stop.give();
            }
            there
        });
    }

    /// Prepares a change of a draft's content: refuses it if the draft is frozen, and cancels a running upload.
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
            upload.stop.give();
        }
    }

    /// Notes a change of a draft's content, and its caller.
    pub fn note_change(&mut self, draft: DraftId, caller: Option<&Caller>, now: Duration) {
        let process = caller.map(|caller| self.processes.of(caller.pid, now));
        let activity = self.activity(draft);
        activity.last_change = now;
        activity.generation += 1;
        activity.folder_times_set = false;
        if let Some(process) = process {
            activity.writers.insert(process.clone());
            activity.all_writers.insert(process);
        }
        // Without a known writer, the copy ends with this change.
        activity.writers_ended = activity.writers.is_empty().then_some(now);
    }

    /// Notes that a file was closed. The kernel may report it late, after the tool has set the folder's times as its
    /// last step. So it does not reset that note.
    pub fn released(&mut self, draft: DraftId, caller: &Caller, now: Duration) {
        let times_set = self.activity(draft).folder_times_set;
        self.note_change(draft, Some(caller), now);
        self.activity(draft).folder_times_set = times_set;
    }

    /// Notes that attributes of the draft's own folder were set.
    pub fn note_folder_change(&mut self, draft: DraftId, times_set: bool, now: Duration) {
        let activity = self.activity(draft);
        activity.last_change = now;
        activity.folder_times_set |= times_set;
    }

    /// True if the caller's process wrote into the draft.
    pub fn wrote_into(&mut self, draft: DraftId, caller: &Caller, now: Duration) -> bool {
        let process = self.processes.of(caller.pid, now);
        self.activity(draft).all_writers.contains(&process)
    }

    /// Adds the writers of a draft to those of another draft, into which entries of it were moved.
    pub fn share_writers(&mut self, from: DraftId, to: DraftId) {
        let (writers, all) = match self.activity_of(from) {
            Some(activity) => (activity.writers.clone(), activity.all_writers.clone()),
            None => return,
        };
        let activity = self.activity(to);
        activity.writers.extend(writers);
        activity.all_writers.extend(all);
    }

    /// The state of the writers, for the settle rule.
    pub fn writer_state(&mut self, draft: DraftId, now: Duration) -> WriterState {
        let activity = self.activity(draft);
        if activity.writers_ended.is_none() {
            activity.writers.retain(|process| process.is_alive());
            activity.writers_ended = activity.writers.is_empty().then_some(now);
        }
        WriterState {
            last_change: activity.last_change,
            writers_ended: activity.writers_ended,
            folder_times_set: activity.folder_times_set,
        }
    }

    /// The draft that contains an entry now.
    pub fn home_of(&self, hint: DraftId, entry: EntryId) -> Option<DraftId> {
        let holds = |draft: &Draft| draft.tree.node(entry).is_some();
        if self.state.drafts.get(&hint).is_some_and(holds) {
            return Some(hint);
        }
        let mut drafts = self.state.drafts.iter();
        drafts.find(|(_, draft)| holds(draft)).map(|(id, _)| *id)
    }

    /// Paths of the files of a draft that are open for writing.
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

    /// Refuses a second file in a loose draft.
    pub fn check_holds_many(&self, draft: DraftId) -> OutboxResult<()> {
        let found = self.draft(draft)?;
        match found.kind {
            DraftKind::Folder => Ok(()),
            DraftKind::LooseFile => Err(OutboxError::NotAFolder(found.name.clone())),
        }
    }

    /// The record that sets an entry's attributes.
    pub fn attributes_record(
        &self,
        draft: DraftId,
        entry: EntryId,
        change: &AttributeChange,
        now: Moment,
    ) -> OutboxResult<DraftRecord> {
        let attributes = self.entry(draft, entry)?.attributes.changed(change, now);
        Ok(DraftRecord::AttributesSet {
            draft,
            entry,
            attributes,
        })
    }
}

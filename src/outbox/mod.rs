//! All that is on its way out: drafts with their staged bytes and journal, the uploader, the jobs
//! behind the drop folders, the texts of presets.
//!
//! [`Outbox`] is the front door. What it has accepted (a `flush`, a rename, a job's text that
//! returned without error) survives a kill and a power cut and reaches the service, once. Local
//! operations are synchronous and touch local disk only; nothing that the kernel waits for waits for
//! the network here. It knows no inodes and no paths of the tree.

#![allow(unused_variables, dead_code, clippy::todo)]

mod error;
mod moment;
mod types;

pub use error::{OutboxError, OutboxResult};
pub use types::{
    AttributeChange, Caller, DraftId, DraftInfo, DraftKind, DraftPhase, DrainReport, EntryId,
    EntryInfo, EntryKind, JobFolder, JobInfo, JobState, OpenMode, Orphan, OutboxConfig,
    OutboxEvent, OwnerFolder, Place, PresetFile, PresetOverlay, PresetState, Renamed, SentEntry,
    SentRecord, TransferInfo,
};

use std::fs::File;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::client::Client;
use crate::wire::AssetId;

/// Everything that is on its way out, for one account. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {}

/// An open file of a draft, with its bytes on local disk. Dropping it releases it.
pub struct StagedFile {}

impl StagedFile {
    /// The entry it belongs to.
    pub fn entry(&self) -> EntryId {
        todo!()
    }

    /// The draft it belonged to when it was opened.
    pub fn draft(&self) -> DraftId {
        todo!()
    }

    /// Its present length.
    pub fn size(&self) -> u64 {
        todo!()
    }

    /// The staged file itself, for reading alone (passthrough, `pread` in place).
    pub fn file(&self) -> Arc<File> {
        todo!()
    }

    /// Reads into `buf` from `offset`; short only at the end of the file.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> OutboxResult<usize> {
        todo!()
    }

    /// Writes all of `data` at `offset`.
    pub fn write_at(&self, data: &[u8], offset: u64) -> OutboxResult<()> {
        todo!()
    }

    /// Writes all of `data` at the end.
    pub fn append(&self, data: &[u8]) -> OutboxResult<()> {
        todo!()
    }

    /// Cuts or extends the file.
    pub fn truncate(&self, size: u64) -> OutboxResult<()> {
        todo!()
    }

    /// Reserves room for a range; extends the file unless `keep_size`.
    pub fn allocate(&self, offset: u64, len: u64, keep_size: bool) -> OutboxResult<()> {
        todo!()
    }

    /// Makes durable what was written through any handle, and the file's place in its folder: data
    /// first, then a journal record of size and hash. Does nothing when nothing changed.
    pub fn flush(&self) -> OutboxResult<()> {
        todo!()
    }

    /// Closes the handle. The last writer's release is what the settle rule counts from.
    pub fn release(self) {
        todo!()
    }
}

impl Outbox {
    /// Opens the outbox of one account, replays its journal and begins to send what is due. Must be
    /// called inside a tokio runtime, whose tasks it uses until [`Outbox::shut_down`].
    pub fn open(
        config: OutboxConfig,
        client: Client,
    ) -> OutboxResult<(Outbox, mpsc::Receiver<OutboxEvent>)> {
        todo!()
    }

    /// Stops and joins all tasks. Nothing that was accepted is lost; uploads go on at the next open.
    pub async fn shut_down(&self) {
        todo!()
    }

    // Drafts

    /// All drafts, by number.
    pub fn drafts(&self) -> Vec<DraftInfo> {
        todo!()
    }

    /// One draft.
    pub fn draft(&self, draft: DraftId) -> Option<DraftInfo> {
        todo!()
    }

    /// The draft of that name at the top.
    pub fn find_draft(&self, name: &str) -> Option<DraftInfo> {
        todo!()
    }

    /// Makes an empty draft folder. Durable on return.
    pub fn create_draft(&self, name: &str, mode: u32, caller: &Caller) -> OutboxResult<DraftInfo> {
        todo!()
    }

    /// Makes a loose file at the top: a draft of kind [`DraftKind::LooseFile`] and its one file.
    pub fn create_loose_file(
        &self,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<(DraftInfo, EntryInfo, StagedFile)> {
        todo!()
    }

    /// Renames a draft at the top. `noreplace` fails where the name is taken by another draft;
    /// otherwise a loose file replaces a loose file, and a folder an empty one.
    pub fn rename_draft(
        &self,
        draft: DraftId,
        new_name: &str,
        noreplace: bool,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        todo!()
    }

    /// Removes a draft with everything in it: cancels an upload under way and deletes what the
    /// service already has of it. Durable on return.
    pub fn remove_draft(&self, draft: DraftId) -> OutboxResult<()> {
        todo!()
    }

    /// One entry; [`EntryId::ROOT`] is the draft's folder.
    pub fn entry(&self, draft: DraftId, entry: EntryId) -> Option<EntryInfo> {
        todo!()
    }

    /// The entry of that name in a folder of a draft.
    pub fn child(&self, draft: DraftId, parent: EntryId, name: &str) -> Option<EntryInfo> {
        todo!()
    }

    /// The entries of a folder, by name.
    pub fn children(&self, draft: DraftId, parent: EntryId) -> OutboxResult<Vec<EntryInfo>> {
        todo!()
    }

    /// Makes a file and opens it for writing. Fails where the name is taken. Durable at its flush.
    pub fn create_file(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<(EntryInfo, StagedFile)> {
        todo!()
    }

    /// Makes a folder. Durable on return.
    pub fn make_dir(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> OutboxResult<EntryInfo> {
        todo!()
    }

    /// Opens a staged file.
    pub fn open_staged(
        &self,
        draft: DraftId,
        entry: EntryId,
        mode: OpenMode,
        caller: &Caller,
    ) -> OutboxResult<StagedFile> {
        todo!()
    }

    /// Renames or moves within a draft, between drafts, to the top or from it. Replaces like
    /// `rename(2)` unless `noreplace`. Durable on return.
    pub fn rename(
        &self,
        from: &Place,
        to: &Place,
        noreplace: bool,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        todo!()
    }

    /// Removes a file.
    pub fn remove_file(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        caller: &Caller,
    ) -> OutboxResult<()> {
        todo!()
    }

    /// Removes an empty folder.
    pub fn remove_dir(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        caller: &Caller,
    ) -> OutboxResult<()> {
        todo!()
    }

    /// Changes attributes; shown as set. A changed size cuts or extends the staged file.
    pub fn set_attributes(
        &self,
        draft: DraftId,
        entry: EntryId,
        change: &AttributeChange,
        caller: &Caller,
    ) -> OutboxResult<EntryInfo> {
        todo!()
    }

    /// Reads an extended attribute.
    pub fn get_xattr(&self, draft: DraftId, entry: EntryId, name: &str) -> OutboxResult<Vec<u8>> {
        todo!()
    }

    /// Sets an extended attribute. `create` and `replace` are the flags of `setxattr(2)`.
    pub fn set_xattr(
        &self,
        draft: DraftId,
        entry: EntryId,
        name: &str,
        value: &[u8],
        create: bool,
        replace: bool,
    ) -> OutboxResult<()> {
        todo!()
    }

    /// The names of an entry's extended attributes.
    pub fn list_xattrs(&self, draft: DraftId, entry: EntryId) -> OutboxResult<Vec<String>> {
        todo!()
    }

    /// Removes an extended attribute.
    pub fn remove_xattr(&self, draft: DraftId, entry: EntryId, name: &str) -> OutboxResult<()> {
        todo!()
    }

    /// True when the caller's process wrote into the draft: its `fsync` of the folder only makes
    /// durable, anyone else's commits.
    pub fn wrote_into(&self, draft: DraftId, caller: &Caller) -> bool {
        todo!()
    }

    /// Makes everything in the draft durable, names, times and modes included.
    pub fn sync_draft(&self, draft: DraftId) -> OutboxResult<()> {
        todo!()
    }

    // Sending

    /// Sends the draft now and returns when the service has accepted it. `force` overrides what is
    /// not whole. Dropping the future does not stop the upload.
    pub async fn commit(&self, draft: DraftId, force: bool) -> OutboxResult<AssetId> {
        todo!()
    }

    /// Removes a draft, or the staged copy of a failed import together with its asset.
    pub async fn cancel(&self, draft: DraftId) -> OutboxResult<()> {
        todo!()
    }

    /// Tries again what failed: the upload, or the import on the service.
    pub async fn retry(&self, draft: DraftId) -> OutboxResult<()> {
        todo!()
    }

    /// The one line of the draft's status.
    pub fn status(&self, draft: DraftId) -> Option<String> {
        todo!()
    }

    /// Why an entry of a draft is not sent (junk, in flight, a service folder, a loose file of a
    /// kind that needs a folder), as a sentence.
    pub fn why_kept_back(&self, draft: DraftId, entry: EntryId) -> Option<String> {
        todo!()
    }

    /// Uploads under way.
    pub fn transfers(&self) -> Vec<TransferInfo> {
        todo!()
    }

    /// What was copied in to make an asset; kept for as long as the asset exists.
    pub fn sent_record(&self, asset: AssetId) -> Option<Arc<SentRecord>> {
        todo!()
    }

    /// All that was copied in and still exists on the service.
    pub fn sent_records(&self) -> Vec<Arc<SentRecord>> {
        todo!()
    }

    /// The staged bytes of a file that was copied in, while they are kept.
    pub fn open_sent(&self, asset: AssetId, path: &str) -> Option<StagedFile> {
        todo!()
    }

    /// Tells that something happened to an asset (a webhook came): it is looked at now.
    pub fn asset_changed(&self, asset: AssetId) {
        todo!()
    }

    /// Tells that an asset is gone from the service: its record, jobs and staged copy are dropped.
    pub fn asset_gone(&self, asset: AssetId) {
        todo!()
    }

    /// Incomplete assets that a lost `start` reply of ours may have left.
    pub async fn orphans(&self) -> OutboxResult<Vec<Orphan>> {
        todo!()
    }

    /// Deletes one of [`Outbox::orphans`] on the service.
    pub async fn cancel_orphan(&self, orphan: AssetId) -> OutboxResult<()> {
        todo!()
    }

    /// Sends the drafts that are ready without waiting for quiet, and waits until the service has
    /// accepted them. `ready_only` leaves uploads alone that have not begun and are not ready;
    /// otherwise it waits for those, too, that only wait for references.
    pub async fn drain(&self, ready_only: bool) -> DrainReport {
        todo!()
    }

    // Jobs

    /// The files of a drop folder, by name.
    pub fn job_entries(&self, folder: &JobFolder) -> Vec<JobInfo> {
        todo!()
    }

    /// One file of a drop folder.
    pub fn job(&self, folder: &JobFolder, name: &str) -> Option<JobInfo> {
        todo!()
    }

    /// All drop folders that hold something.
    pub fn job_folders(&self) -> Vec<JobFolder> {
        todo!()
    }

    /// Keeps the text of a job file. Local, durable on return, sends nothing.
    pub fn write_job_text(&self, folder: &JobFolder, name: &str, text: &[u8]) -> OutboxResult<()> {
        todo!()
    }

    /// Checks the text and sends it, unless it is empty, has a temporary name or was sent before.
    /// Answers within ten seconds: later answers come as events. Dropping the future stops nothing.
    pub async fn submit_job(&self, folder: &JobFolder, name: &str) -> OutboxResult<JobState> {
        todo!()
    }

    /// Sends a job again, whether or not its text was sent before: this pays again.
    pub async fn run_job(&self, folder: &JobFolder, name: &str) -> OutboxResult<JobState> {
        todo!()
    }

    /// Renames a job file, replacing another. Local, durable on return, sends nothing.
    pub fn rename_job(&self, folder: &JobFolder, from: &str, to: &str) -> OutboxResult<()> {
        todo!()
    }

    /// Removes a job file; what was not sent yet is cancelled.
    pub fn remove_job(&self, folder: &JobFolder, name: &str) -> OutboxResult<()> {
        todo!()
    }

    /// Tells that something happened to an optimization (a webhook came).
    pub fn jobs_changed(&self) {
        todo!()
    }

    // Presets: names are file names in `presets/`

    /// What is held here of the presets folder.
    pub fn preset_overlay(&self) -> PresetOverlay {
        todo!()
    }

    /// Keeps the text and, under a `.json` name, makes or updates the preset.
    pub async fn save_preset(&self, file_name: &str, text: &[u8]) -> OutboxResult<PresetState> {
        todo!()
    }

    /// Renames a preset file: to a backup name locally, a temporary file over a preset as an update,
    /// else on the service.
    pub async fn rename_preset(&self, from: &str, to: &str) -> OutboxResult<()> {
        todo!()
    }

    /// Removes a preset file: a local one here, a preset on the service.
    pub async fn remove_preset(&self, file_name: &str) -> OutboxResult<()> {
        todo!()
    }
}

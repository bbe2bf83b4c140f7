//! Inspects staged files for the settle rule, once for each state of their bytes.
//!
//! A finding is valid for one name, content and checksum; anything else is inspected again. After a restart the
//! checksum itself is verified first, because a write that was never flushed may have changed the bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use crate::outbox::drafts::settle::readiness::BytesState;
use assetfs_formats::extension;
use assetfs_formats::references::{self, Reference};
use assetfs_formats::wholeness;
use assetfs_formats::zip::{MAX_TAIL_BYTES, end_records, parse_directory};

use crate::outbox::staging::{ContentHash, ContentId, hash_upto};

/// Maximum length of a zip's list of files that is read to count models.
const MAX_DIRECTORY_BYTES: u64 = 4 << 20;

/// A file to inspect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    /// Its path from the draft's folder; its references are relative to it.
    pub path: String,
    /// Its staged bytes.
    pub content: ContentId,
    /// Their checksum in the journal.
    pub hash: ContentHash,
    pub size: u64,
}

/// The result of inspecting a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether its bytes are complete.
    pub state: BytesState,
    /// The files that it refers to.
    pub references: Vec<Reference>,
    /// Of a zip: the files in it, with their sizes.
    pub members: Vec<(String, u64)>,
}

/// The results so far.
#[derive(Debug, Default)]
pub struct Findings {
    known: HashMap<ContentId, (Subject, Finding)>,
    /// Contents whose bytes were hashed in this run.
    proven: HashMap<ContentId, ContentHash>,
    /// How often each content was flushed in this run.
    flushes: HashMap<ContentId, u64>,
}

/// What was known of a file when its inspection began.
#[derive(Debug, Clone, Copy)]
pub struct InspectionStart {
    /// True if the checksum has to be verified first.
    pub needs_proof: bool,
    flushes: u64,
}

impl Findings {
    /// The result for a file, if there is one.
    pub fn of(&self, subject: &Subject) -> Option<&Finding> {
        let (known, finding) = self.known.get(&subject.content)?;
        (known == subject).then_some(finding)
    }

    /// Notes that the bytes of a content were flushed and have this hash. The earlier result is forgotten: it may be
    /// from a moment in which the same bytes were being written again.
    pub fn flushed(&mut self, content: ContentId, hash: ContentHash) {
        self.proven.insert(content, hash);
        self.known.remove(&content);
        *self.flushes.entry(content).or_default() += 1;
    }

    /// To be called before a file is inspected.
    pub fn begin(&self, subject: &Subject) -> InspectionStart {
        InspectionStart {
            needs_proof: self.proven.get(&subject.content) != Some(&subject.hash),
            flushes: self.flushes_of(subject.content),
        }
    }

    fn flushes_of(&self, content: ContentId) -> u64 {
        self.flushes.get(&content).copied().unwrap_or_default()
    }

    /// Stores a result, unless the file was flushed during the inspection: then it has to be inspected again.
    pub fn keep(&mut self, start: InspectionStart, subject: Subject, finding: Finding) {
        if start.flushes != self.flushes_of(subject.content) {
            return;
        }
        if finding.state != BytesState::Interrupted {
            self.proven.insert(subject.content, subject.hash);
        }
        self.known.insert(subject.content, (subject, finding));
    }

    /// Forgets a content that is gone.
    pub fn forget(&mut self, content: ContentId) {
        self.known.remove(&content);
        self.proven.remove(&content);
        self.flushes.remove(&content);
    }
}

/// Inspects a file. Blocks on local disk.
pub fn inspect(subject: &Subject, file: &File, needs_proof: bool) -> io::Result<Finding> {
    let interrupted = Finding {
        state: BytesState::Interrupted,
        references: Vec::new(),
        members: Vec::new(),
    };
    if file.metadata()?.len() != subject.size {
        return Ok(interrupted);
    }
    if needs_proof && hash_upto(file, u64::MAX)?.digest() != subject.hash {
        return Ok(interrupted);
    }
    let wholeness = wholeness::judge(&subject.path, file, subject.size)?;
    let found = references::find(&subject.path, file)?;
    let state = if found.cut_short {
        BytesState::Short { expected: None }
    } else {
        wholeness.into()
    };
    let is_zip = extension(&subject.path) == "zip";
    let members = is_zip.then(|| members_of(file, subject.size));
    Ok(Finding {
        state,
        references: found.files,
        // What cannot be read as a zip has no members that could be named.
        members: members.and_then(Result::ok).unwrap_or_default(),
    })
}

/// The files in a zip. An unusual or damaged one is an error: it is sent as it is, and the service judges it.
fn members_of(file: &File, size: u64) -> io::Result<Vec<(String, u64)>> {
    let tail_at = size - size.min(MAX_TAIL_BYTES);
    let tail = read_at(file, tail_at, size - tail_at)?;
    let mut ends = end_records(&tail);
    let end = ends.find(|end| end.at() + end.len_bytes() == tail.len());
    let end = end.ok_or(io::ErrorKind::InvalidData)?;
    // A zip of more than 65,535 files is no model that a person made of several.
    if end.has_long_len() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let extent = end.extent();
    if extent.len > MAX_DIRECTORY_BYTES || extent.len > size {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let directory = read_at(file, extent.offset, extent.len)?;
    let members = parse_directory(&directory, extent).map_err(|why| io::Error::other(why.0))?;
    Ok(members.into_iter().map(|it| (it.name, it.size)).collect())
}

fn read_at(file: &File, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn subject() -> Subject {
        Subject {
            path: "a.stl".to_owned(),
            content: ContentId(1),
            hash: ContentHash::of(b"solid a endsolid"),
            size: 16,
        }
    }

    fn finding(state: BytesState) -> Finding {
        Finding {
            state,
            references: Vec::new(),
            members: Vec::new(),
        }
    }

    #[test]
    fn what_was_seen_while_the_same_bytes_were_written_again_does_not_stay() {
        let mut findings = Findings::default();
        // The inspection ends before the flush.
        let start = findings.begin(&subject());
        findings.keep(start, subject(), finding(BytesState::Interrupted));
        assert!(findings.of(&subject()).is_some());
        findings.flushed(subject().content, subject().hash);
        assert_eq!(findings.of(&subject()), None);
        // The inspection ends after the flush.
        let start = findings.begin(&subject());
        findings.flushed(subject().content, subject().hash);
        findings.keep(start, subject(), finding(BytesState::Interrupted));
        assert_eq!(findings.of(&subject()), None);
        let start = findings.begin(&subject());
        assert!(!start.needs_proof);
        findings.keep(start, subject(), finding(BytesState::Whole));
        assert_eq!(findings.of(&subject()), Some(&finding(BytesState::Whole)));
    }

    #[test]
    fn bytes_that_changed_behind_the_journal_are_an_interrupted_copy() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"solid a endsolid").unwrap();
        let subject = subject();
        assert_eq!(
            inspect(&subject, &file, true).unwrap().state,
            BytesState::Whole
        );
        let other = Subject {
            hash: ContentHash::of(b"other"),
            ..subject.clone()
        };
        assert_eq!(
            inspect(&other, &file, true).unwrap().state,
            BytesState::Interrupted
        );
        let longer = Subject {
            size: 17,
            ..subject
        };
        assert_eq!(
            inspect(&longer, &file, false).unwrap().state,
            BytesState::Interrupted
        );
    }
}

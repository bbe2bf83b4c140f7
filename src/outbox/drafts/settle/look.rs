//! Gathers the facts of a draft for the settle rule, and inspects files that were not inspected yet.

use std::fs::File;
use std::sync::Arc;

use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::settle::facts;
use crate::outbox::drafts::settle::facts::Knowledge;
use crate::outbox::drafts::settle::inspect::{Finding, Subject, inspect};
use crate::outbox::drafts::settle::readiness::{BytesState, DraftFacts};
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::DraftId;
use crate::outbox::off_thread::off_thread;

/// All facts of a draft; inspects the files for which there is no result. `None` if the draft is gone.
pub async fn look(parts: &Arc<DraftParts>, draft: DraftId) -> OutboxResult<Option<DraftFacts>> {
    loop {
        // Files are no longer inspected: without this the loop would not end.
        if parts.tasks.is_closing() {
            return Err(OutboxError::ShutDown);
        }
        let known = facts::gather(&parts.memory(), draft);
        let subjects = match known {
            None => return Ok(None),
            Some(Knowledge::All(facts)) => return Ok(Some(facts)),
            Some(Knowledge::NeedsInspection(subjects)) => subjects,
        };
        let looking = Arc::clone(parts);
        off_thread(move || inspect_all(&looking, subjects)).await?;
    }
}

fn inspect_all(parts: &DraftParts, subjects: Vec<Subject>) {
    for subject in subjects {
        if parts.tasks.is_closing() {
            return;
        }
        let start = parts.memory().findings.begin(&subject);
        let path = parts.own.staging.path(subject.content);
        let finding = File::open(path).and_then(|file| inspect(&subject, &file, start.needs_proof));
        let finding = finding.unwrap_or_else(|error| {
            tracing::warn!(content = %subject.content, %error, "a staged file cannot be read");
            Finding {
                state: BytesState::Interrupted,
                references: Vec::new(),
                members: Vec::new(),
            }
        });
        parts.memory().findings.keep(start, subject, finding);
    }
}

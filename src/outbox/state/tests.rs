//! Properties of the journal's state: every prefix of the records can be replayed, a snapshot equals the records that
//! it replaces, and no asset is ever forgotten.

mod fixtures;
mod history;

use std::collections::BTreeSet;

use history::{History, choices};
use proptest::prelude::*;

use super::*;
use crate::outbox::drafts::DraftRecord;
use crate::outbox::staging::ContentId;

fn without_freed(mut state: State) -> State {
    state.drafts.freed.clear();
    state
}

proptest! {
    #[test]
    fn every_prefix_of_a_journal_can_be_replayed(choices in choices()) {
        let history = History::of(choices);
        let mut step_by_step = State::default();
        for end in 0..=history.records.len() {
            let replayed = State::replay(history.records[..end].to_vec()).unwrap();
            prop_assert_eq!(&without_freed(replayed), &without_freed(step_by_step.clone()));
            if let Some(record) = history.records.get(end) {
                step_by_step.apply(record).unwrap();
            }
        }
    }

    #[test]
    fn a_snapshot_says_the_same_as_the_records_it_stands_for(choices in choices(), at in any::<prop::sample::Index>()) {
        let history = History::of(choices);
        let cut = at.index(history.records.len() + 1);
        let before = State::replay(history.records[..cut].to_vec()).unwrap();
        let snapshot = Record::Snapshot(Box::new(before));
        let text = serde_json::to_vec(&snapshot).unwrap();
        let mut records: Vec<Record> = vec![serde_json::from_slice(&text).unwrap()];
        records.extend_from_slice(&history.records[cut..]);
        let replayed = State::replay(records).unwrap();
        prop_assert_eq!(without_freed(replayed), without_freed(history.state));
    }

    #[test]
    fn records_survive_their_own_text(choices in choices()) {
        for record in History::of(choices).records {
            let text = serde_json::to_vec(&record).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Record>(&text).unwrap(), record);
        }
    }

    #[test]
    fn no_asset_is_ever_forgotten(choices in choices()) {
        let history = History::of(choices);
        let state = &history.state;
        for asset in &history.assets {
            let in_attempt = state.drafts.drafts.values().any(|it| it.stage().and_then(|it| it.asset()) == Some(*asset));
            let known = in_attempt || state.drafts.discards.contains(asset) || state.drafts.sent.contains_key(asset);
            prop_assert!(known, "{} is unknown", asset);
        }
        // And no wanted asset is ever deleted.
        for draft in state.drafts.drafts.values() {
            if let Some(asset) = draft.stage().and_then(|it| it.asset()) {
                prop_assert!(!state.drafts.discards.contains(&asset));
            }
        }
    }

    #[test]
    fn an_asset_that_another_machine_started_is_deleted_only_if_the_user_says_so(choices in choices()) {
        let history = History::of(choices);
        for asset in &history.joined {
            prop_assert!(!history.state.drafts.discards.contains(asset), "{} is discarded", asset);
        }
    }

    #[test]
    fn what_others_may_have_joined_is_never_deleted_outright(choices in choices()) {
        let state = History::of(choices).state.drafts;
        prop_assert!(state.shared_discards.is_subset(&state.discards));
    }

    #[test]
    fn every_content_is_either_kept_or_freed(choices in choices()) {
        let history = History::of(choices);
        let mut made = BTreeSet::new();
        for record in &history.records {
            if let Record::Draft(DraftRecord::FileMade { content, .. }) = record {
                made.insert(*content);
            }
        }
        let kept = history.state.drafts.kept_contents();
        let freed: BTreeSet<ContentId> = history.state.drafts.freed.iter().copied().collect();
        prop_assert!(kept.is_disjoint(&freed));
        prop_assert_eq!(kept.union(&freed).copied().collect::<BTreeSet<_>>(), made);
    }
}

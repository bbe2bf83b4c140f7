//! What the drive shows at one moment, and the difference of two such moments. Pure.

use std::collections::{HashMap, HashSet};

use super::record::{DriveEvent, EventKind, ItemKind};
use crate::drive::values::node::{ListingKind, Model};
use crate::outbox::{ItemStatus, JobFolder, StatusWord};
use crate::wire::{EmbedId, PresetId};

/// The identity of an item: it stays when the name changes, and when a draft becomes a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::drive) enum Item {
    Model(Model),
    Embed(EmbedId),
    Preset(PresetId),
    /// A job by the name of its text.
    Job(JobFolder, String),
}

/// How an item is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::drive) struct Shown {
    /// Path from the top of the drive.
    pub(in crate::drive) path: String,
    pub(in crate::drive) id: Option<u64>,
    pub(in crate::drive) status: Option<ItemStatus>,
    /// What the model was sent without.
    pub(in crate::drive) warning: Option<String>,
    /// A hash of what is reported as `changed`: tags, the text of a preset.
    pub(in crate::drive) content: u64,
    /// The outbox handles it: it is known from its beginning, whether or not the service's list has arrived.
    pub(in crate::drive) is_draft: bool,
}

/// All items.
#[derive(Debug, Default)]
pub(in crate::drive) struct Snapshot {
    pub(in crate::drive) items: HashMap<Item, Shown>,
    /// The listings that were loaded completely. A new item of any other listing may be an old one that was not known
    /// yet, unless it is a draft.
    pub(in crate::drive) listed: HashSet<ListingKind>,
}

impl Item {
    fn kind(&self) -> ItemKind {
        match self {
            Item::Model(Model::Raw(_)) => ItemKind::Model,
            Item::Model(Model::Rapid(_)) => ItemKind::RapidModel,
            Item::Embed(_) => ItemKind::Embed,
            Item::Preset(_) => ItemKind::Preset,
            Item::Job(..) => ItemKind::Job,
        }
    }

    /// The listing that it is from.
    fn listing(&self) -> Option<ListingKind> {
        match self {
            Item::Model(Model::Raw(_)) => Some(ListingKind::Assets),
            Item::Model(Model::Rapid(_)) => Some(ListingKind::Rapids),
            Item::Embed(_) => Some(ListingKind::Embeds),
            Item::Preset(_) => Some(ListingKind::Presets),
            Item::Job(..) => None,
        }
    }
}

impl Shown {
    /// What is compared of a status: seconds that count down are no news.
    fn progress(&self) -> Option<(StatusWord, Option<u8>, Option<&str>)> {
        let status = self.status.as_ref()?;
        Some((status.word(), status.percent(), reason(status)))
    }

    fn event(&self, item: &Item, kind: EventKind) -> DriveEvent {
        let status = self.status.as_ref();
        DriveEvent {
            kind,
            path: self.path.clone(),
            item: Some(item.kind()),
            id: self.id,
            state: status.map(ItemStatus::word),
            percent: status.and_then(ItemStatus::percent),
            status: status.map(ToString::to_string),
            reason: status
                .and_then(reason)
                .map(str::to_owned)
                .or_else(|| self.warning.clone()),
            ..DriveEvent::default()
        }
    }
}

fn reason(status: &ItemStatus) -> Option<&str> {
    match status {
        ItemStatus::Failed { reason } => Some(reason),
        _ => None,
    }
}

impl Snapshot {
    /// The events that lead from `before` to this snapshot, by path. A path is free before another item takes it:
    /// removals come first, then renames, each after the one that frees its path.
    pub(in crate::drive) fn since(&self, before: &Snapshot) -> Vec<DriveEvent> {
        let gone = before
            .items
            .iter()
            .filter(|(item, _)| !self.items.contains_key(item));
        let mut events: Vec<DriveEvent> = gone
            .map(|(item, shown)| DriveEvent {
                state: None,
                percent: None,
                status: None,
                reason: None,
                ..shown.event(item, EventKind::Removed)
            })
            .collect();
        events.sort_by(|a, b| a.path.cmp(&b.path));
        let mut renames = Vec::new();
        let mut others = Vec::new();
        for (item, shown) in &self.items {
            match before.items.get(item) {
                Some(known) => {
                    renames.extend(rename_of(item, known, shown));
                    others.extend(changes_of(item, known, shown));
                }
                None if shown.is_draft || before.is_complete_for(item) => {
                    others.push(shown.event(item, EventKind::Created));
                }
                None => {}
            }
        }
        events.extend(in_possible_order(renames));
        // Stable: the events of one item stay in their order.
        others.sort_by(|a, b| a.path.cmp(&b.path));
        events.extend(others);
        events
    }

    fn is_complete_for(&self, item: &Item) -> bool {
        let listing = item.listing();
        listing.is_none_or(|listing| self.listed.contains(&listing))
    }
}

fn rename_of(item: &Item, known: &Shown, shown: &Shown) -> Option<DriveEvent> {
    (known.path != shown.path).then(|| DriveEvent {
        from: Some(known.path.clone()),
        ..shown.event(item, EventKind::Renamed)
    })
}

/// Renames by path, each after the one that frees its path. Names that are exchanged have no such order.
fn in_possible_order(mut renames: Vec<DriveEvent>) -> Vec<DriveEvent> {
    renames.sort_by(|a, b| a.path.cmp(&b.path));
    let from = |rename: &DriveEvent| rename.from.clone().unwrap_or_default();
    let frees: HashMap<String, usize> = renames.iter().map(from).zip(0..).collect();
    let mut left: Vec<Option<DriveEvent>> = renames.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(left.len());
    for start in 0..left.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(rename) = next.and_then(|at| left[at].take()) {
            next = frees.get(&rename.path).copied();
            chain.push(rename);
        }
        ordered.extend(chain.into_iter().rev());
    }
    ordered
}

fn changes_of(item: &Item, known: &Shown, shown: &Shown) -> Vec<DriveEvent> {
    let mut events = Vec::new();
    if known.progress() != shown.progress() {
        events.push(shown.event(item, EventKind::State));
    }
    if known.content != shown.content {
        events.push(shown.event(item, EventKind::Changed));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::values::node::Home;
    use crate::wire::{AssetId, RapidId};

    fn model(id: u64) -> Item {
        Item::Model(Model::Raw(Home::Found(AssetId(id))))
    }

    fn shown(path: &str, status: ItemStatus) -> Shown {
        Shown {
            path: path.to_owned(),
            status: Some(status),
            ..Shown::default()
        }
    }

    fn snapshot<const N: usize>(items: [(Item, Shown); N]) -> Snapshot {
        Snapshot {
            items: items.into(),
            listed: [ListingKind::Assets].into(),
        }
    }

    fn words(events: &[DriveEvent]) -> Vec<(EventKind, &str)> {
        let words = events.iter();
        words.map(|event| (event.kind, &*event.path)).collect()
    }

    #[test]
    fn each_difference_is_one_event_and_removals_and_renames_come_first() {
        let complete = ItemStatus::Complete;
        let before = snapshot([
            (model(1), shown("/rawmodels/a", complete.clone())),
            (model(2), shown("/rawmodels/b", complete.clone())),
            (
                model(3),
                shown(
                    "/rawmodels/c",
                    ItemStatus::Running {
                        percent: 4,
                        seconds_left: None,
                    },
                ),
            ),
            (model(4), shown("/rawmodels/d", complete.clone())),
            (
                model(5),
                shown("/rawmodels/e", ItemStatus::Settling { seconds: 2 }),
            ),
        ]);
        let failed = ItemStatus::Failed {
            reason: "no mesh".to_owned(),
        };
        let after = snapshot([
            (model(9), shown("/rawmodels/a", complete.clone())),
            (model(2), shown("/rawmodels/b2", complete.clone())),
            (model(3), shown("/rawmodels/c", failed)),
            (
                model(4),
                Shown {
                    content: 7,
                    ..shown("/rawmodels/d", complete)
                },
            ),
            (
                model(5),
                shown("/rawmodels/e", ItemStatus::Settling { seconds: 1 }),
            ),
        ]);
        let events = after.since(&before);
        assert_eq!(
            words(&events),
            [
                (EventKind::Removed, "/rawmodels/a"),
                (EventKind::Renamed, "/rawmodels/b2"),
                (EventKind::Created, "/rawmodels/a"),
                (EventKind::State, "/rawmodels/c"),
                (EventKind::Changed, "/rawmodels/d"),
            ]
        );
        assert_eq!(events[1].from.as_deref(), Some("/rawmodels/b"));
        assert_eq!(events[3].state, Some(StatusWord::Failed));
        assert_eq!(events[3].reason.as_deref(), Some("no mesh"));
        assert_eq!(after.since(&after), []);
    }

    #[test]
    fn a_draft_is_new_before_the_first_listing_has_arrived() {
        let draft = Shown {
            is_draft: true,
            ..shown("/rawmodels/a", ItemStatus::Draft)
        };
        let after = Snapshot {
            listed: [].into(),
            ..snapshot([(model(1), draft)])
        };
        assert_eq!(
            words(&after.since(&Snapshot::default())),
            [(EventKind::Created, "/rawmodels/a")]
        );
    }

    #[test]
    fn a_path_is_free_before_another_item_takes_it() {
        let items = |paths: [&str; 5]| {
            let shown = |path| shown(path, ItemStatus::Complete);
            let [a, b, c, d, e] = paths.map(shown);
            snapshot([
                (model(1), a),
                (model(2), b),
                (model(3), c),
                (model(4), d),
                (model(5), e),
            ])
        };
        // A version takes the name of a model; a chain of three; two names that are exchanged.
        for (before, after, expected) in [
            (
                ["/chair", "/chair~new", "/x", "/y", "/z"],
                ["/chair~1", "/chair", "/x", "/y", "/z"],
                vec!["/chair~1", "/chair"],
            ),
            (
                ["/a", "/b", "/c", "/y", "/z"],
                ["/b", "/c", "/d", "/y", "/z"],
                vec!["/d", "/c", "/b"],
            ),
            (
                ["/a", "/b", "/x", "/y", "/old"],
                ["/b", "/a", "/x", "/y", "/new"],
                vec!["/b", "/a", "/new"],
            ),
        ] {
            let events = items(after).since(&items(before));
            let paths: Vec<&str> = events.iter().map(|event| &*event.path).collect();
            assert_eq!(paths, expected, "{before:?}");
            assert!(events.iter().all(|event| event.kind == EventKind::Renamed));
        }
        // What is new comes after the rename that makes room for it.
        let complete = || ItemStatus::Complete;
        let before = snapshot([(model(1), shown("/a", complete()))]);
        let after = snapshot([
            (model(1), shown("/z", complete())),
            (model(2), shown("/a", complete())),
        ]);
        assert_eq!(
            words(&after.since(&before)),
            [(EventKind::Renamed, "/z"), (EventKind::Created, "/a")]
        );
    }

    #[test]
    fn what_a_first_listing_shows_is_not_new() {
        let rapid = Item::Model(Model::Rapid(RapidId(1)));
        let after = snapshot([(rapid, shown("/rapidmodels/a", ItemStatus::Done))]);
        assert_eq!(after.since(&snapshot([])), []);
        let job = Item::Job(JobFolder::Multi, "all.json".to_owned());
        let after = snapshot([(job, shown("/jobs/all.json", ItemStatus::NotSent))]);
        assert_eq!(
            words(&after.since(&snapshot([]))),
            [(EventKind::Created, "/jobs/all.json")]
        );
    }
}

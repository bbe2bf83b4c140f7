//! The results of an asset, found again by the tags of the drive.

use crate::wire::{NOTE_PREFIX, RapidId, RapidModel, TagId};

/// The rapid models of an asset, as far as their tags are known, the newest first.
#[derive(Default)]
pub struct TaggedModels(pub Vec<RapidModel>);

impl TaggedModels {
    pub fn newest_first(mut models: Vec<RapidModel>) -> TaggedModels {
        models.sort_by_key(|model| std::cmp::Reverse(model.id));
        TaggedModels(models)
    }

    /// The best model with one of the tags: by the order of the tags, then one that did not fail, then the newest.
    pub fn find(&self, tags: &[&str]) -> Option<RapidId> {
        let rank = |model: &RapidModel| {
            let mut names = model.tags.iter().map(|tag| tag.name.as_str());
            let at = names
                .by_ref()
                .filter_map(|name| tags.iter().position(|tag| *tag == name))
                .min()?;
            let fails = model.optimization_status.is_failure();
            Some((at, fails, std::cmp::Reverse(model.id)))
        };
        let ranked = self
            .0
            .iter()
            .filter_map(|model| Some((rank(model)?, model.id)));
        ranked.min().map(|(_, id)| id)
    }

    /// Whether one of them has the tag and did not fail.
    pub fn has_sound(&self, tag: &str) -> bool {
        self.sound_with(tag).next().is_some()
    }

    /// Those that have the tag and did not fail.
    pub fn sound_with(&self, tag: &str) -> impl Iterator<Item = &RapidModel> {
        let sound = |model: &&RapidModel| !model.optimization_status.is_failure();
        let sound = self.0.iter().filter(sound);
        sound.filter(move |model| model.tags.iter().any(|found| found.name == tag))
    }

    /// Whether a model is the newest with a tag.
    pub fn is_newest_with(&self, rapid: RapidId, tag: &str) -> bool {
        self.with(tag).map(|(model, _)| model.id).max() == Some(rapid)
    }

    /// Those that have the tag.
    pub fn with(&self, tag: &str) -> impl Iterator<Item = (&RapidModel, TagId)> {
        self.0.iter().filter_map(move |model| {
            let found = model.tags.iter().find(|found| found.name == tag)?;
            Some((model, found.id))
        })
    }

    /// Those that did not fail, and of which no note says which text they were made with.
    pub fn without_note(&self) -> impl Iterator<Item = &RapidModel> {
        let is_note = |name: &str| {
            name.strip_prefix(NOTE_PREFIX)
                .is_some_and(|note| note.starts_with("text="))
        };
        self.0.iter().filter(move |model| {
            let mut names = model.tags.iter().map(|tag| tag.name.as_str());
            !model.optimization_status.is_failure() && !names.any(is_note)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::jobs::notes::note_of;
    use crate::outbox::staging::ContentHash;

    fn model(id: u64, status: &str, tags: &[&str]) -> RapidModel {
        let tags: Vec<_> = tags
            .iter()
            .map(|name| serde_json::json!({"id": 1, "name": name}))
            .collect();
        let record = serde_json::json!({"id": id, "optimization_status": status, "tags": tags});
        serde_json::from_value(record).expect("a record")
    }

    #[test]
    fn the_own_tag_goes_before_the_note_and_what_failed_or_is_older_comes_last() {
        let note = note_of(ContentHash(7), None);
        let note = note.as_str();
        let models = TaggedModels(vec![
            model(1, "done", &[note]),
            model(2, "done", &["wood", note]),
            model(3, "failed", &[note]),
            model(4, "failed", &["assetfs-mine"]),
        ]);
        assert_eq!(models.find(&[note]), Some(RapidId(2)));
        assert_eq!(models.find(&["assetfs-mine", note]), Some(RapidId(4)));
        assert_eq!(models.find(&[&note_of(ContentHash(7), Some(0))]), None);
    }

    #[test]
    fn results_without_a_note_are_those_of_others_that_did_not_fail() {
        let note = note_of(ContentHash(7), Some(3));
        let models = TaggedModels(vec![
            model(4, "failed", &[]),
            model(3, "done", &["wood", "assetfs-mine"]),
            model(2, "done", &["wood", &note]),
            model(1, "sent_to_queue", &[]),
        ]);
        let ids: Vec<_> = models.without_note().map(|model| model.id.0).collect();
        assert_eq!(ids, [3, 1]);
    }
}

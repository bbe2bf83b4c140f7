//! Notes on results: tags that say which text of a drop folder a result was made with. With them a text is not paid for
//! again if another machine has sent it, or this machine before its state was lost.

use crate::client::{ClientError, Priority};
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::tagged::TaggedModels;
use crate::outbox::staging::ContentHash;
use crate::outbox::texts::text_stem;
use crate::wire::{
    AssetId, NOTE_PREFIX, NotedPreset, OptimizerConfig, by_note, config_note, name_note,
};

/// Maximum number of rapid models without tags in the list that are requested one by one.
const ASKED_ONE_BY_ONE: usize = 20;

/// The note of a text for one model, or of one item of a text for several. The same on every machine.
pub fn note_of(text_hash: ContentHash, item: Option<usize>) -> String {
    match item {
        Some(item) => format!("{NOTE_PREFIX}text={text_hash}/{item}"),
        None => format!("{NOTE_PREFIX}text={text_hash}"),
    }
}

/// The checksum of a configuration by its meaning, as the notes on results have it.
pub fn config_hash(config: &OptimizerConfig) -> ContentHash {
    ContentHash::of(config.canonical_text().as_bytes())
}

/// The notes on a result of a text: its checksum, its name, its configuration if that is known, who sent it.
pub struct TextNotes<'a> {
    /// See [`note_of`].
    pub text: &'a str,
    /// The name of its file.
    pub file: &'a str,
    pub config: Option<ContentHash>,
    pub preset: Option<NotedPreset>,
    pub by: Option<&'a str>,
}

impl TextNotes<'_> {
    pub fn tags(&self) -> impl Iterator<Item = String> {
        let config = self
            .config
            .map(|config| config_note(config, self.preset.as_ref()));
        let text = [self.text.to_owned(), name_note(text_stem(self.file))];
        text.into_iter().chain(config).chain(self.by.map(by_note))
    }
}

/// Requests the rapid models of an asset. A list may omit the tags; a single record has them.
pub async fn tagged_models(
    parts: &JobParts,
    asset: AssetId,
    priority: Priority,
) -> Result<TaggedModels, ClientError> {
    let models = parts.client.assets().rapid_models(asset, priority).await?;
    let mut models = TaggedModels::newest_first(models);
    let untagged = models.0.iter_mut().filter(|model| model.tags.is_empty());
    for model in untagged.take(ASKED_ONE_BY_ONE) {
        match parts.client.rapids().get(model.id, priority).await {
            Ok(whole) => *model = whole,
            Err(ClientError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(models)
}

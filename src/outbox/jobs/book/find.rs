//! Finds earlier requests and their files. Read-only.

use crate::outbox::ids::JobFolder;
use crate::outbox::jobs::book::{
    EmbedStage, EmbedSubmission, JobBook, JobFile, JobKey, Submission,
};
use crate::outbox::staging::ContentHash;
use crate::wire::{AssetId, ModelId, RapidId};

impl JobBook {
    /// The texts in `optimize/` whose results do not carry their names, each with its model and its result.
    pub fn unnamed(&self) -> Vec<(JobKey, AssetId, RapidId)> {
        let files = self.files.iter();
        let unnamed = files
            .filter(|(key, file)| matches!(key.folder, JobFolder::Optimize(_)) && !file.is_named);
        unnamed
            .filter_map(|(key, file)| {
                let submission = self.submissions.get(file.submission.as_ref()?)?;
                Some((key.clone(), submission.asset, submission.stage.rapid()?))
            })
            .collect()
    }

    /// True as long as this is the result of the text, and does not carry its name.
    pub fn is_unnamed(&self, job: &JobKey, asset: AssetId, rapid: RapidId) -> bool {
        let unnamed = self.unnamed();
        unnamed
            .iter()
            .any(|(key, model, result)| (key, *model, *result) == (job, asset, rapid))
    }

    /// The tag of the latest request of a text for one asset.
    pub fn sent_before(&self, asset: AssetId, text_hash: ContentHash) -> Option<&String> {
        let submissions = self.submissions.iter();
        submissions
            .filter(|(_, it)| it.asset == asset && it.text_hash == text_hash)
            .filter(|(_, it)| it.group.is_none())
            .max_by_key(|(_, it)| it.at)
            .map(|(tag, _)| tag)
    }

    /// The same for several assets in one request.
    pub fn many_sent_before(&self, text_hash: ContentHash) -> Option<&String> {
        let submissions = self.submissions.values();
        submissions
            .filter(|it| it.text_hash == text_hash && it.group.is_some())
            .max_by_key(|it| it.at)
            .and_then(|it| it.group.as_ref())
    }

    /// True while the outcome of a request for an embed of the same model and name is not known. The search for a lost
    /// one tells embeds apart by these two.
    pub fn is_like_a_lost_one(&self, embed: &EmbedSubmission) -> bool {
        let mut embeds = self.embeds.values();
        embeds
            .any(|it| it.stage == EmbedStage::Sent && (it.of, &it.name) == (embed.of, &embed.name))
    }

    /// The same for an embed.
    pub fn embed_sent_before(&self, of: ModelId, text_hash: ContentHash) -> Option<&String> {
        let embeds = self.embeds.iter();
        embeds
            .filter(|(_, it)| it.of == of && it.text_hash == text_hash)
            .max_by_key(|(_, it)| it.at)
            .map(|(tag, _)| tag)
    }

    /// The optimizations of a request: one, or those of its group.
    pub fn optimizations_of(&self, request: &str) -> Vec<(&String, &Submission)> {
        let submissions = self.submissions.iter();
        submissions
            .filter(|(tag, it)| *tag == request || it.group.as_deref() == Some(request))
            .collect()
    }

    /// The file, the first by name, whose request a rapid model or one of its tags belongs to.
    pub fn key_of_rapid<'a>(
        &self,
        rapid: RapidId,
        mut tags: impl Iterator<Item = &'a str>,
    ) -> Option<JobKey> {
        let by_tag = tags.find(|tag| self.submissions.contains_key(*tag));
        let tag = by_tag.or_else(|| {
            let mut submissions = self.submissions.iter();
            let (tag, _) = submissions.find(|(_, it)| it.stage.rapid() == Some(rapid))?;
            Some(tag.as_str())
        })?;
        self.keys_of(tag).into_iter().next()
    }

    /// The files whose request, or group of requests, contains a submission.
    pub fn keys_of(&self, tag: &str) -> Vec<JobKey> {
        let group = self.submissions.get(tag).and_then(|it| it.group.as_deref());
        let of_tag = |file: &JobFile| {
            let request = file.submission.as_deref();
            request.is_some() && (request == Some(tag) || request == group)
        };
        let files = self.files.iter().filter(|(_, file)| of_tag(file));
        files.map(|(key, _)| key.clone()).collect()
    }
}

//! Where links point: always relative, always inside the drive.

use std::sync::Arc;
use std::time::Duration;

use super::rows::job_folder;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Family, JobPart, Node};
use crate::wire::{AssetId, EmbedId, RapidId};

impl Shared {
    /// Where a link points.
    pub(in crate::drive) async fn link_target(
        self: &Arc<Self>,
        node: &Node,
    ) -> DriveResult<String> {
        match node {
            Node::ByIdLink(Family::Raw, id) => {
                let home = self.home_of(AssetId(*id));
                let name = self.model_name(home).ok_or(DriveError::NotFound)?;
                Ok(format!("../../{name}"))
            }
            Node::ByIdLink(Family::Rapid, id) => {
                Ok(format!("../../{}", self.linked_rapid(RapidId(*id)).await?))
            }
            Node::FoundLink(Family::Raw, _, id) => {
                let name = self.model_name(self.home_of(AssetId(*id)));
                Ok(format!("../../../{}", name.ok_or(DriveError::NotFound)?))
            }
            Node::FoundLink(Family::Rapid, _, id) => {
                let name = self.linked_rapid(RapidId(*id)).await?;
                Ok(format!("../../../{name}"))
            }
            Node::JobLink(rapid) => Ok(format!(
                "../rapidmodels/{}",
                self.linked_rapid(*rapid).await?
            )),
            Node::SourceLink(rapid) => {
                let row = self.known_rapid(*rapid).await?;
                let row = if row.source.is_some() {
                    row
                } else {
                    self.refreshed_rapid(*rapid, Duration::ZERO).await?
                };
                let source = row.source.ok_or(DriveError::NotFound)?;
                if self.known().assets.row(source.0).is_none() {
                    self.refreshed_asset(source, Duration::ZERO).await?;
                }
                let name = self
                    .model_name(self.home_of(source))
                    .ok_or(DriveError::NotFound)?;
                Ok(format!("../../../rawmodels/{name}"))
            }
            Node::RapidLink(_, rapid) => Ok(format!(
                "../../../rapidmodels/{}",
                self.linked_rapid(*rapid).await?
            )),
            Node::Job(folder, name, JobPart::Result) => {
                let job = self.outbox.job(&job_folder(*folder), name);
                let job = job.ok_or(DriveError::NotFound)?;
                if let Some(embed) = job.embed {
                    let page = self.linked_embed(embed).await?;
                    return Ok(format!("../../../embeds/{page}"));
                }
                let rapid = job.rapid.ok_or(DriveError::NotFound)?;
                self.learn_end(rapid).await;
                Ok(format!(
                    "../../../rapidmodels/{}",
                    self.linked_rapid(rapid).await?
                ))
            }
            _ => Err(DriveError::Invalid("this is not a link".into())),
        }
    }

    /// The link is there because the job is done, whatever was seen of the model while it ran. A look that
    /// was under way already may still tell of that time, so one more follows.
    async fn learn_end(self: &Arc<Self>, rapid: RapidId) {
        self.rapid_ended(rapid);
        for _ in 0..2 {
            if self.rapid_is_final(rapid) {
                break;
            }
            if let Err(error) = self.refreshed_rapid(rapid, Duration::ZERO).await {
                tracing::debug!(rapid = %rapid, error = %error, "could not look at a model whose job is done");
                break;
            }
        }
    }

    async fn linked_embed(self: &Arc<Self>, embed: EmbedId) -> DriveResult<String> {
        let known = || self.known().embeds.name(embed.0).map(str::to_owned);
        if let Some(name) = known() {
            return Ok(name);
        }
        self.doubt(Which::Embeds);
        self.refreshed(Which::Embeds).await?;
        known().ok_or(DriveError::NotFound)
    }

    async fn linked_rapid(self: &Arc<Self>, rapid: RapidId) -> DriveResult<String> {
        self.known_rapid(rapid).await?;
        self.rapid_name(rapid).ok_or(DriveError::NotFound)
    }
}

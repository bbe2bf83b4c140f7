//! The embeds of a model, as the service lists them.

use super::parts::JobParts;
use crate::client::{ClientError, Priority};
use crate::wire::{Embed, EmbedId, ModelId};

/// The embeds of a model that have this name.
pub async fn embeds_of(
    parts: &JobParts,
    of: ModelId,
    name: &str,
) -> Result<Vec<EmbedId>, ClientError> {
    let rapid = match of {
        ModelId::Rapid(rapid) => Some(rapid),
        ModelId::Asset(_) => None,
    };
    let listed = parts
        .client
        .embeds()
        .all(rapid, Priority::Interactive)
        .await?;
    let same = |embed: &&Embed| embed.name == name && may_show(embed, of);
    Ok(listed.iter().filter(same).map(|embed| embed.id).collect())
}

/// False if the embed shows another model according to its record.
fn may_show(embed: &Embed, of: ModelId) -> bool {
    match of {
        ModelId::Rapid(rapid) => {
            embed.raw_model_id.is_none() && embed.rapid().is_none_or(|shown| shown == rapid)
        }
        ModelId::Asset(asset) => embed.raw_model_id.is_none_or(|shown| shown == asset),
    }
}

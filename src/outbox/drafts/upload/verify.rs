//! Compares what the service has of an asset with what was sent: sizes, and MD5 where the ETag is
//! one. Only when all of it is there and the same may the staged copy go.

use std::sync::Arc;

use crate::client::{ClientError, Priority};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::upload::body::ObjectBody;
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::error::{OutboxError, OutboxResult, staging_error};
use crate::outbox::off_thread::off_thread;
use crate::wire::{AssetId, Downloads, SignedUrl};

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison {
    /// All is there and the same.
    Same,
    /// Something is missing or differs; the text says what.
    Different(String),
    /// The asset is gone.
    Gone,
}

/// The bytes of what was sent, object by object.
pub(super) async fn bodies_of(
    parts: &Arc<DraftParts>,
    manifest: &Manifest,
) -> OutboxResult<Vec<ObjectBody>> {
    let (manifest, staging) = (manifest.clone(), Arc::clone(parts));
    let bodies = off_thread(move || ObjectBody::all_of(&manifest, &staging.staging)).await?;
    bodies.map_err(staging_error("reading the staged files"))
}

/// Compares.
pub(super) async fn compare(
    parts: &Arc<DraftParts>,
    manifest: &Manifest,
    asset: AssetId,
) -> OutboxResult<Comparison> {
    let listed = match parts
        .client
        .assets()
        .downloads(asset, Priority::Background)
        .await
    {
        Ok(listed) => listed,
        Err(ClientError::NotFound { .. }) => return Ok(Comparison::Gone),
        Err(error) => return Err(service_error(error)),
    };
    let sent = as_objects(parts, manifest).await?;
    match compare_all(parts, &listed, &sent).await? {
        None => return Ok(Comparison::Same),
        Some(note) if manifest.zip_name.is_none() => return Ok(Comparison::Different(note)),
        Some(_) => {}
    }
    // The zip itself is not there: the service may list what was in it.
    let members = Manifest {
        zip_name: None,
        ..manifest.clone()
    };
    let sent = as_objects(parts, &members).await?;
    Ok(match compare_all(parts, &listed, &sent).await? {
        None => Comparison::Same,
        Some(note) => Comparison::Different(note),
    })
}

async fn as_objects(
    parts: &Arc<DraftParts>,
    manifest: &Manifest,
) -> OutboxResult<Vec<(String, ObjectBody)>> {
    let bodies = bodies_of(parts, manifest).await?;
    Ok(manifest.object_names().into_iter().zip(bodies).collect())
}

/// The first difference, if there is one.
async fn compare_all(
    parts: &Arc<DraftParts>,
    listed: &Downloads,
    sent: &[(String, ObjectBody)],
) -> OutboxResult<Option<String>> {
    for (name, body) in sent {
        let Some(url) = find(listed, name) else {
            return Ok(Some(format!("the service does not list {name}")));
        };
        if let Some(note) = compare_one(parts, name, body, url).await? {
            return Ok(Some(note));
        }
    }
    Ok(None)
}

/// The URL of a name, or of its last part where only that is listed.
fn find<'a>(listed: &'a Downloads, name: &str) -> Option<&'a SignedUrl> {
    let last = name.rsplit('/').next().unwrap_or(name);
    listed.get(name).or_else(|| listed.get(last))
}

async fn compare_one(
    parts: &Arc<DraftParts>,
    name: &str,
    body: &ObjectBody,
    url: &SignedUrl,
) -> OutboxResult<Option<String>> {
    let meta = parts
        .client
        .transfers()
        .probe(url)
        .await
        .map_err(service_error)?;
    match meta.size {
        None => {
            return Ok(Some(format!(
                "the service does not tell the size of {name}"
            )));
        }
        Some(size) if size != body.len() => {
            return Ok(Some(format!(
                "the service has {size} bytes of {name}, {} were sent",
                body.len()
            )));
        }
        Some(_) => {}
    }
    let Some(theirs) = meta.md5_hex() else {
        return Ok(None);
    };
    let body = body.clone();
    let ours = off_thread(move || body.md5_hex()).await?;
    let ours = ours.map_err(staging_error(format!("reading {name}")))?;
    Ok((ours != theirs).then(|| format!("the service has other bytes of {name} than were sent")))
}

fn service_error(source: ClientError) -> OutboxError {
    OutboxError::Service {
        what: "comparing what the service has with what was sent".to_owned(),
        source,
    }
}

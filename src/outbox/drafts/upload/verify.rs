//! Compares the service's files of an asset with those that were sent: sizes, and MD5 if the ETag is one. The staged
//! copy is deleted only if all files are there and equal.

use std::sync::Arc;

use crate::client::{ClientError, Priority};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::upload::body::ObjectBody;
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::error::{OutboxError, OutboxResult, staging_error};
use crate::outbox::off_thread::off_thread;
use crate::wire::{AssetId, Downloads, SignedUrl};

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison {
    /// All files are there and equal.
    Same,
    /// Something is missing or differs; the text says what.
    Different(String),
    /// The asset is gone.
    Gone,
}

/// The bodies of the objects that were sent.
pub(super) async fn bodies_of(
    parts: &Arc<DraftParts>,
    manifest: &Manifest,
) -> OutboxResult<Vec<ObjectBody>> {
    let (manifest, staging) = (manifest.clone(), Arc::clone(parts));
    let bodies = off_thread(move || ObjectBody::all_of(&manifest, &staging.own.staging)).await?;
    bodies.map_err(staging_error("reading the staged files"))
}

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
    // The service may list the files in the zip instead of the zip.
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

/// The URL of a path, or of its file name if only that is listed.
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
    let meta = match parts.client.transfers().probe(url).await {
        Ok(meta) => meta,
        Err(ClientError::NotFound { .. }) => {
            return Ok(Some(format!(
                "the service lists {name} and does not have it"
            )));
        }
        Err(error) => return Err(service_error(error)),
    };
    match meta.size {
        None => {
            return Ok(Some(format!(
                "the service does not report the size of {name}"
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
    Ok((ours != theirs).then(|| {
        format!("the checksum of {name} on the service differs from the file that was sent")
    }))
}

fn service_error(source: ClientError) -> OutboxError {
    OutboxError::Service {
        what: "comparing the files on the service with those that were sent".to_owned(),
        source,
    }
}

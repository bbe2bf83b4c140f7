//! All files of an asset as one zip, which the service makes.

use std::sync::Arc;

use crate::client::{Download, Priority};
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::blob_sizes::{keep_len, kept_len};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::Home;
use crate::wire::ModelId;

/// Starts the download.
pub async fn source_zip(catalog: &Arc<Catalog>, home: Home) -> DriveResult<Download> {
    let asset = catalog
        .asset_of(home)
        .ok_or_else(|| DriveError::Invalid("this is still a draft; commit it first".into()))?;
    let reply = catalog.client.assets().zip(asset, Priority::Interactive);
    send_with_deadline(catalog, reply).await
}

/// The name that its size is stored under; `None` for a draft.
pub fn source_zip_name(catalog: &Catalog, home: Home) -> Option<String> {
    let asset = catalog.asset_of(home)?;
    Some(format!("{}/source.zip", ModelId::Asset(asset)))
}

/// Its size: known after it was read, or if the service reports it; zero for a draft.
pub async fn source_zip_len(catalog: &Arc<Catalog>, home: Home) -> DriveResult<u64> {
    let Some(name) = source_zip_name(catalog, home) else {
        return Ok(0);
    };
    if let Some(len) = kept_len(catalog, &name) {
        return Ok(len);
    }
    let len = source_zip(catalog, home).await?.len;
    if let Some(len) = len {
        keep_len(catalog, &name, len);
    }
    Ok(len.unwrap_or(0))
}

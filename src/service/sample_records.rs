//! Fills an account with complete assets, to measure clients with large accounts.
//!
//! The records are created directly, without uploads and analyses. The files are real, so the assets can be listed,
//! read and deleted like others.

use super::app::App;
use super::error::ServiceError;
use super::records::{Area, FreshBlob, NewFile};
use crate::wire::UserId;
use assetfs_engine::job::THUMBNAIL_NAME;

/// Assets in one commit.
const AT_ONCE: u64 = 1_000;

/// The content of each asset's model: the header of a glb.
const CONTENT: &[u8] = b"glTF\x02\0\0\0\x0c\0\0\0";

/// The content of each asset's thumbnail: a JPEG of one grey pixel.
const THUMBNAIL: &[u8] = include_bytes!("sample_thumbnail.jpg");

/// Adds `count` assets named `sample 000000`, `sample 000001`, ….
pub async fn add(app: &App, user: UserId, count: u64) -> Result<(), ServiceError> {
    let mut made = 0;
    while made < count {
        let until = count.min(made + AT_ONCE);
        let mut new = Vec::new();
        let count = usize::try_from(until - made).expect("a batch is small");
        let mut blobs = app.records.blobs().fresh_keys(2 * count).await?.into_iter();
        for number in made..until {
            let mut fresh = || blobs.next().expect("two blobs for each asset");
            let (model, thumbnail) = (fresh(), fresh());
            let files = [
                file(app, &model, Area::Source, "sample.glb", CONTENT).await?,
                file(app, &thumbnail, Area::Analysis, THUMBNAIL_NAME, THUMBNAIL).await?,
            ];
            new.push((format!("sample {number:06}"), files));
        }
        app.records.assets().add_complete(user, &new).await?;
        made = until;
    }
    Ok(())
}

async fn file(
    app: &App,
    blob: &FreshBlob,
    area: Area,
    name: &str,
    content: &'static [u8],
) -> Result<NewFile, ServiceError> {
    Ok(NewFile {
        area,
        name: name.to_owned(),
        bytes: app.files.keep(blob, content).await?,
    })
}

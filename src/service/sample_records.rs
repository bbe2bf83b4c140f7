//! Fills an account with complete assets, for measuring how a client copes with large ones.
//!
//! The records are made directly, without uploads and analyses; the files are real, so that all of it
//! can be listed, read and deleted like any other.

use super::ServiceError;
use super::app::App;
use super::records::{Area, NewFile};
use crate::wire::UserId;

/// Assets that are made in one commit.
const AT_ONCE: u64 = 1_000;

/// The content of each asset's one file: the head of a glb, and no more.
const CONTENT: &[u8] = b"glTF\x02\0\0\0\x0c\0\0\0";

/// Adds `count` assets named `sample 000000`, `sample 000001`, ….
pub async fn add(app: &App, user: UserId, count: u64) -> Result<(), ServiceError> {
    let mut made = 0;
    while made < count {
        let until = count.min(made + AT_ONCE);
        let mut new = Vec::new();
        for number in made..until {
            let stored = app.files.keep(CONTENT)?;
            let file = NewFile {
                area: Area::Source,
                name: "sample.glb".to_owned(),
                blob: stored.blob,
                size: stored.size,
                md5: stored.md5,
                crc32: stored.crc32,
            };
            new.push((format!("sample {number:06}"), file));
        }
        app.records.assets().add_complete(user, &new).await?;
        made = until;
    }
    Ok(())
}

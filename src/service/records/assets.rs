//! Records of base assets. `starts` holds their creation by an upload, `imports` holds the steps from an upload to a complete asset.

use jiff::Timestamp;

use super::database::{MAX_ROWS, Result, places};
use super::files::{self, NewFile};
use super::groups::AssetRecords;
use super::listings::{Listing, ModelColumns};
use super::search::{ModelState, PageOf, PageRequest, Search};
use super::sql::{columns, record, sql};
use super::tokens::{OF_TOKEN, TOKEN_NAME, token_name};
use crate::service::ids::random_uuid;
use crate::wire::{
    AllVersions, AssetId, ModelId, NOTE_PREFIX, SourceNotes, TokenId, UploadStatus, UserId,
};

#[derive(Debug)]
pub struct NewAsset<'a> {
    pub name: &'a str,
    pub filenames: &'a [String],
    /// Whether the only file is an archive to unpack.
    pub is_zip: bool,
    /// The file format, by the file names.
    pub format: &'a str,
    pub main_file: &'a str,
    /// Made from the idempotency key of the client, so that it can repeat the start.
    pub start_key: Option<&'a str>,
    /// Made from the join key of the client, by which others find the same upload.
    pub join_key: Option<&'a str>,
    pub token: TokenId,
}

record! {
    #[derive(Debug, Clone)]
    pub struct AssetRow {
        pub id: AssetId,
        pub uuid: String,
        pub name: String,
        /// Whether an archive was uploaded.
        pub is_zip: bool,
        pub status: UploadStatus = "upload_status",
        pub format: String,
        pub main_file: String,
        /// Bytes of the uploaded files.
        pub size: u64,
        /// The scale that the user set; 1 by default.
        pub scale_factor: f64,
        /// Whether error.log contains errors.
        pub has_errors: bool,
        pub error_message: Option<String>,
        /// The statistics of the analysis, as JSON text.
        pub metadata: Option<String>,
        /// When the upload began.
        pub created_at: Timestamp,
        /// The name of the token that began it, until that is deleted.
        pub made_by: Option<String> => token_name(),
    }
}

/// A query for assets: their columns and the name of their token.
fn select(condition: &str) -> String {
    let columns = columns::<AssetRow>("t.");
    format!("SELECT {columns}, {TOKEN_NAME} FROM assets t {OF_TOKEN} {condition}")
}

const LISTING: Listing<AssetRow> = Listing {
    select: || select(""),
    table: "assets",
    id: |row| row.id.0,
    tags: Some(ModelId::ASSET_KIND),
    filter: None,
    model: Some(ModelColumns {
        state: |state| match state {
            ModelState::Ready => "t.upload_status = 'complete'",
            ModelState::Failed => "lower(t.upload_status) LIKE '%failed%'",
            ModelState::Unfinished => "t.upload_status = 'incomplete'",
            ModelState::Busy => {
                "t.upload_status NOT IN ('complete', 'incomplete') AND lower(t.upload_status) NOT LIKE '%failed%'"
            }
        },
        format: ["t.format = ", ""],
        size: "t.size",
    }),
};

impl AssetRecords<'_> {
    /// Adds complete assets without upload and analysis. The first of the files of each is the model.
    pub async fn add_complete(self, user: UserId, new: &[(String, [NewFile; 2])]) -> Result<()> {
        let mut tx = self.database.begin_locking(user).await?;
        for (name, files) in new {
            let file = &files[0];
            let insert = sql!(
                "INSERT INTO assets (user_id, uuid, name, name_folded, is_zip, upload_status, format, \
                 main_file, size, scale_factor, has_errors, created_at) \
                 VALUES ($1, $2, $3, $4, 0, $5, 'glb', $6, $7, 1.0, 0, $8) RETURNING id",
                user,
                random_uuid(),
                name,
                name.to_lowercase(),
                UploadStatus::Complete,
                file.name,
                file.bytes.size,
                tx.now(),
            );
            let owner = ModelId::Asset(tx.one(insert).await?);
            files::add(&mut tx, user, owner, files).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// One asset of `user`.
    pub async fn get(self, user: UserId, asset: AssetId) -> Result<Option<AssetRow>> {
        let query = select("WHERE t.id = $1 AND t.user_id = $2");
        self.database.optional(sql!(query, asset, user)).await
    }

    /// Those of these assets that `user` has.
    pub async fn get_all(self, user: UserId, assets: &[AssetId]) -> Result<Vec<AssetRow>> {
        let mut found = Vec::new();
        for assets in assets.chunks(MAX_ROWS) {
            let ids = places(2, assets.len());
            let query = select(&format!("WHERE t.user_id = $1 AND t.id IN ({ids})"));
            found.extend(
                self.database
                    .all(sql!(query, user).bind_all(assets))
                    .await?,
            );
        }
        Ok(found)
    }

    /// One page of the assets of `user`, newest first.
    pub async fn list(
        self,
        user: UserId,
        search: &Search,
        page: PageRequest,
    ) -> Result<PageOf<AssetRow>> {
        LISTING
            .page(self.database, (user, None), search, page)
            .await
    }

    /// The ids of the assets of which a newer, complete version of `user` is there, as drives have noted.
    pub async fn ids_of_replaced(self, user: UserId) -> Result<Vec<AssetId>> {
        let query = "SELECT g.owner_id, g.name FROM tags g \
             JOIN assets t ON t.id = g.owner_id AND t.upload_status = 'complete' \
             WHERE g.user_id = $1 AND g.owner_kind = 'asset' AND g.name LIKE $2";
        let pattern = format!("{NOTE_PREFIX}replaces=%");
        let statement = sql!(query, user, pattern.as_str());
        let noted: Vec<(AssetId, String)> = self.database.all(statement).await?;
        let replacements = noted.iter().filter_map(|(newer, note)| {
            let older = SourceNotes::of_tags(std::iter::once(note.as_str())).replaces?;
            Some((older, *newer))
        });
        let replaced = AllVersions::new(replacements).replaced(|_| true);
        let mut replaced: Vec<AssetId> = replaced.into_keys().collect();
        replaced.sort_unstable();
        Ok(replaced)
    }

    /// Sets the scale of an asset of `user`.
    pub async fn set_scale(self, user: UserId, asset: AssetId, scale_factor: f64) -> Result<()> {
        let update = "UPDATE assets SET scale_factor = $3 WHERE id = $1 AND user_id = $2";
        let done = self.database.run(sql!(update, asset, user, scale_factor));
        done.await.map(drop)
    }
}

//! The groups of calls that [`Records`](super::Records) hands out. Each group's methods are in the file of its name.

use super::database::Database;

macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $group<'a> {
            pub(super) database: &'a Database,
        }
    )*};
}

groups! {
    /// Accounts.
    AccountRecords,
    /// Base assets.
    AssetRecords,
    /// Stored blobs.
    BlobRecords,
    /// Conversions of base assets to other formats.
    ConversionRecords,
    /// Events that webhooks receive.
    DeliveryRecords,
    /// Results whose pictures are still to be drawn.
    DrawingRecords,
    /// Epochs of the bucket.
    EpochRecords,
    /// Embeds, and the theme that a user saved for them.
    EmbedRecords,
    /// Files of models.
    FileRecords,
    /// Imports of uploaded models.
    ImportRecords,
    /// Files that clients sent to the storage.
    IncomingRecords,
    /// The job table.
    JobRecords,
    /// Base assets and rapid models.
    ModelRecords,
    /// Start and end of optimizations.
    OptimizationRecords,
    /// Presets of users.
    PresetRecords,
    /// Counted requests.
    RateRecords,
    /// Rapid models.
    RapidRecords,
    /// Tags of models.
    TagRecords,
    /// API tokens.
    TokenRecords,
    /// Uploads of files.
    UploadRecords,
    /// Webhooks.
    WebhookRecords,
}

//! The states of assets, optimizations, jobs and conversions.
//!
//! A word that is not known is kept as it came; one that says `failed` counts as a failure all the same.

use serde::{Deserialize, Serialize};

use super::lenient::open_words;

/// How far the import of a base asset has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UploadStatus {
    /// The upload has not ended.
    Incomplete,
    /// Uploaded, waiting to be processed.
    Waiting,
    /// The archive is being unpacked.
    Unzipping,
    /// The model is being analysed.
    Analysing,
    /// Data is being prepared.
    DataPrepping,
    /// Preparing the data failed.
    DataPreppingFailed,
    /// Quality control.
    ServiceQc,
    /// All done, and well.
    Complete,
    /// Processing failed.
    ImportingFailed,
    /// Processing failed because of a limit.
    ImportLimitExceeded,
    /// A word that this version does not know.
    Other(String),
}

impl UploadStatus {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Waiting => "waiting",
            Self::Unzipping => "unzipping",
            Self::Analysing => "analysing",
            Self::DataPrepping => "dataprepping",
            Self::DataPreppingFailed => "dataprepping failed",
            Self::ServiceQc => "ServiceQC",
            Self::Complete => "complete",
            Self::ImportingFailed => "Importing Failed",
            Self::ImportLimitExceeded => "Importing Failed Import Limit Exceeded",
            Self::Other(word) => word,
        }
    }

    /// Reads the word on the wire, whatever its case.
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "incomplete" => Self::Incomplete,
            "waiting" => Self::Waiting,
            "unzipping" => Self::Unzipping,
            "analysing" => Self::Analysing,
            "dataprepping" => Self::DataPrepping,
            "dataprepping failed" => Self::DataPreppingFailed,
            "complete" => Self::Complete,
            "importing failed" => Self::ImportingFailed,
            "importing failed import limit exceeded" => Self::ImportLimitExceeded,
            // The word before QC is the service's brand, which varies.
            lower if lower.len() > 2 && lower.ends_with("qc") && !lower.contains(' ') => {
                Self::ServiceQc
            }
            _ => Self::Other(word.to_owned()),
        }
    }

    /// Whether it ended badly; an unknown word that says `failed` counts.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::DataPreppingFailed | Self::ImportingFailed | Self::ImportLimitExceeded => true,
            Self::Other(word) => word.to_ascii_lowercase().contains("failed"),
            _ => false,
        }
    }

    /// Whether nothing more will happen by itself.
    pub fn is_final(&self) -> bool {
        *self == Self::Complete || self.is_failure()
    }
}

impl Default for UploadStatus {
    /// What a record without the field has: no word at all.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl std::fmt::Display for UploadStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for UploadStatus {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for UploadStatus {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Ok(Self::from_word(&word))
    }
}

open_words! {
    /// How far an optimization is.
    OptimizationStatus {
        /// Accepted, or under way.
        SentToQueue = "sent_to_queue",
        /// Done, and well.
        Done = "done",
        /// Ended badly.
        Failed = "failed",
    }
}

impl OptimizationStatus {
    /// Whether it ended badly; an unknown word that says `failed` counts.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failed => true,
            Self::Other(word) => word.to_ascii_lowercase().contains("failed"),
            Self::SentToQueue | Self::Done => false,
        }
    }

    /// Whether nothing more will happen by itself.
    pub fn is_final(&self) -> bool {
        *self == Self::Done || self.is_failure()
    }
}

open_words! {
    /// The state of the job behind an optimization.
    JobState {
        /// Not begun.
        Queued = "queued",
        /// Under way.
        Executing = "executing",
        /// Ended.
        Finished = "finished",
        /// Ended badly.
        Failed = "failed",
    }
}

open_words! {
    /// How far a format conversion is.
    ConversionStatus {
        /// Not begun.
        Queued = "queued",
        /// Under way.
        Executing = "executing",
        /// Done.
        Finished = "finished",
        /// Ended badly.
        Failed = "failed",
    }
}

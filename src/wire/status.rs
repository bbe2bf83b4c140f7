//! States of assets, optimizations, jobs and conversions.
//!
//! An unknown word is kept unchanged; it counts as a failure if it contains `failed`.

use serde::{Deserialize, Serialize};

use super::lenient::open_words;

/// State of the import of a base asset.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UploadStatus {
    /// The upload is not complete.
    Incomplete,
    /// Uploaded, not yet processed.
    Waiting,
    Unzipping,
    Analysing,
    DataPrepping,
    DataPreppingFailed,
    ServiceQc,
    Complete,
    ImportingFailed,
    /// Processing failed because a limit was exceeded.
    ImportLimitExceeded,
    /// A word that this version does not know.
    Other(String),
}

impl UploadStatus {
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

    /// Compares without case.
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
            // The word before QC is the brand of the service, which varies.
            lower if lower.len() > 2 && lower.ends_with("qc") && !lower.contains(' ') => {
                Self::ServiceQc
            }
            _ => Self::Other(word.to_owned()),
        }
    }

    /// An unknown word that contains `failed` counts as a failure.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::DataPreppingFailed | Self::ImportingFailed | Self::ImportLimitExceeded => true,
            Self::Other(word) => word.to_ascii_lowercase().contains("failed"),
            _ => false,
        }
    }

    /// Whether the service is done with it, well or badly.
    pub fn is_final(&self) -> bool {
        *self == Self::Complete || self.is_failure()
    }
}

impl Default for UploadStatus {
    /// The empty word, which a record without this field has.
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
    OptimizationStatus {
        /// Accepted or running.
        SentToQueue = "sent_to_queue",
        Done = "done",
        Failed = "failed",
    }
}

impl OptimizationStatus {
    /// An unknown word that contains `failed` counts as a failure.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failed => true,
            Self::Other(word) => word.to_ascii_lowercase().contains("failed"),
            Self::SentToQueue | Self::Done => false,
        }
    }

    /// Whether the service is done with it, well or badly.
    pub fn is_final(&self) -> bool {
        *self == Self::Done || self.is_failure()
    }
}

open_words! {
    /// State of an optimization's job.
    JobState {
        Queued = "queued",
        Executing = "executing",
        Finished = "finished",
        Failed = "failed",
    }
}

open_words! {
    ConversionStatus {
        Queued = "queued",
        Executing = "executing",
        Finished = "finished",
        Failed = "failed",
    }
}

super::lenient::by_deserialize!(UploadStatus, OptimizationStatus, JobState, ConversionStatus);

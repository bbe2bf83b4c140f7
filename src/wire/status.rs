//! States of assets, optimizations, jobs and conversions.
//!
//! An unknown word is kept unchanged; it counts as a failure if it contains `failed`.

use super::lenient::open_words;

open_words! {
    /// State of the import of a base asset.
    UploadStatus {
        /// The upload is not complete.
        Incomplete = "incomplete",
        /// Uploaded, not yet processed.
        Waiting = "waiting",
        Unzipping = "unzipping",
        Analysing = "analysing",
        DataPrepping = "dataprepping",
        DataPreppingFailed = "dataprepping failed",
        /// Also with another word before `QC`: the brand of the service, which varies.
        ServiceQc = "ServiceQC",
        Complete = "complete",
        ImportingFailed = "Importing Failed",
        /// Processing failed because a limit was exceeded.
        ImportLimitExceeded = "Importing Failed Import Limit Exceeded",
    }
    else if is_quality_control => ServiceQc
}

fn is_quality_control(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    lower.len() > 2 && lower.ends_with("qc") && !lower.contains(' ')
}

impl UploadStatus {
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

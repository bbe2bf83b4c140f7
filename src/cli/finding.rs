//! What `assetfs doctor` found.

/// The result of one check.
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) verdict: Verdict,
}

pub(super) enum Verdict {
    Good(String),
    /// Optional, but recommended.
    Advice(String),
    Missing(String),
}

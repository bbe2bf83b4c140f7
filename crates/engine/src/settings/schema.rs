//! The version of the configuration.

/// The version of the configuration that this engine knows.
pub(super) const SCHEMA: &str = "2.5";

/// A version of the configuration that this engine does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schema is {version}; the only known version is \"{SCHEMA}\"")]
pub struct UnknownSchema {
    /// As it was written, as JSON.
    pub version: String,
}

//! The listings of the service.

/// A listing of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListingKind {
    Assets,
    Rapids,
    Presets,
    Factory,
    Embeds,
    Tokens,
    Webhooks,
    /// Optimizations that are running or have failed lately.
    Jobs,
}

impl ListingKind {
    /// The table that stores it across mounts.
    pub fn table(self) -> &'static str {
        match self {
            ListingKind::Assets => "assets",
            ListingKind::Rapids => "rapids",
            ListingKind::Presets => "presets",
            ListingKind::Factory => "factory",
            ListingKind::Embeds => "embeds",
            ListingKind::Tokens => "tokens",
            ListingKind::Webhooks => "webhooks",
            ListingKind::Jobs => "jobs",
        }
    }
}

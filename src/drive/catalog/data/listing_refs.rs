//! The listings of [`Known`] by name: code that works on any of them takes a [`ListingRef`].

use crate::drive::catalog::data::known::Known;
use crate::drive::values::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRapid, KnownRecord};
use crate::drive::values::listing::Listing;
use crate::drive::values::node::ListingKind;

/// One listing of [`Known`].
pub struct ListingRef<R> {
    pub kind: ListingKind,
    pub rows: fn(&mut Known) -> &mut Listing<R>,
}

macro_rules! listings {
    ($($name:ident: $record:ty = $kind:ident, $field:ident;)*) => {
        $(pub const $name: ListingRef<$record> = ListingRef {
            kind: ListingKind::$kind,
            rows: |known| &mut known.$field,
        };)*
    };
}

listings! {
    ASSETS: KnownAsset = Assets, assets;
    RAPIDS: KnownRapid = Rapids, rapids;
    PRESETS: KnownPreset = Presets, presets;
    FACTORY: KnownPreset = Factory, factory;
    EMBEDS: KnownEmbed = Embeds, embeds;
    TOKENS: KnownRecord = Tokens, tokens;
    WEBHOOKS: KnownRecord = Webhooks, webhooks;
}

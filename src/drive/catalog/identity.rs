//! Which draft, asset and name belong to one model.

use std::collections::HashSet;
use std::sync::Arc;

use crate::drive::catalog::data::listing_refs::ListingRef;
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::{KnownAsset, KnownRapid};
use crate::drive::values::listing::Record;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::names::HIDDEN_FOLDER;
use crate::drive::values::node::{Home, Model};
use crate::locks::Locked;
use crate::outbox::{DraftId, DraftInfo, SentRecord};
use crate::wire::{AssetId, ModelId, RapidId};

/// The present state of a source model.
pub struct ModelView {
    pub home: Home,
    /// The draft, while its staged copy is kept.
    pub draft: Option<DraftInfo>,
    /// The asset, once the service has accepted it.
    pub asset: Option<AssetId>,
    /// The record of what was sent, for a model that was copied in.
    pub sent: Option<Arc<SentRecord>>,
    /// The record of the service.
    pub known: Option<KnownAsset>,
}

impl ModelView {
    /// True while it can be written to.
    pub fn is_open(&self) -> bool {
        self.asset.is_none()
    }

    /// True for a model that was sent as one zip of its owner's.
    pub fn is_zip(&self) -> bool {
        self.sent
            .as_ref()
            .is_some_and(|sent| sent.only_zip().is_some())
    }
}

impl Catalog {
    /// Names of drafts in `rawmodels/`.
    pub fn draft_names(&self) -> HashSet<String> {
        self.outbox
            .drafts()
            .all()
            .into_iter()
            .map(|draft| draft.name)
            .collect()
    }

    /// The record of an asset, if it is known.
    pub fn asset(&self, asset: AssetId) -> Option<KnownAsset> {
        self.known().assets.row(asset.0).cloned()
    }

    /// The record of an optimized model, if it is known.
    pub fn rapid(&self, rapid: RapidId) -> Option<KnownRapid> {
        self.known().rapids.row(rapid.0).cloned()
    }

    /// The name under which a listing shows a record, else its id.
    pub fn name_in<R: Record>(&self, listing: &ListingRef<R>, id: u64) -> String {
        let mut known = self.known();
        let name = (listing.rows)(&mut known).name(id).map(str::to_owned);
        name.unwrap_or_else(|| id.to_string())
    }

    /// The asset that a draft became.
    pub fn asset_of_draft(&self, draft: DraftId) -> Option<AssetId> {
        let mut made = self.made.locked();
        match self.outbox.uploads().asset_of_draft(draft) {
            None => made.get(&draft).copied(),
            Some(Some(asset)) => {
                made.insert(draft, asset);
                Some(asset)
            }
            // A failed import that the user completes is a draft again.
            Some(None) => {
                made.remove(&draft);
                None
            }
        }
    }

    /// How the tree identifies an asset.
    pub fn home_of(&self, asset: AssetId) -> Home {
        match self.outbox.uploads().sent_record(asset) {
            Some(record) => {
                let mut made = self.made.locked();
                made.insert(record.draft, asset);
                Home::Made(record.draft)
            }
            None => Home::Found(asset),
        }
    }

    /// The asset, if there is one.
    pub fn asset_of(&self, home: Home) -> Option<AssetId> {
        match home {
            Home::Found(asset) => Some(asset),
            Home::Made(draft) => self.asset_of_draft(draft),
        }
    }

    /// The present state of a source model; `None` if it is gone.
    pub fn model(&self, home: Home) -> Option<ModelView> {
        let asset = self.asset_of(home);
        let known = asset.and_then(|asset| self.asset(asset));
        let draft = match home {
            Home::Made(draft) => self.outbox.drafts().get(draft),
            Home::Found(_) => None,
        };
        let sent = asset.and_then(|asset| self.outbox.uploads().sent_record(asset));
        let is_there = match home {
            Home::Made(_) => draft.is_some() || sent.is_some(),
            Home::Found(_) => known.is_some(),
        };
        is_there.then_some(ModelView {
            home,
            draft,
            asset,
            sent,
            known,
        })
    }

    /// The name a model is shown under.
    pub fn model_name(&self, home: Home) -> Option<String> {
        if let Some(asset) = self.asset_of(home)
            && let Some(name) = self.known().assets.name(asset.0)
        {
            return Some(name.to_owned());
        }
        match home {
            Home::Made(draft) => self.outbox.drafts().get(draft).map(|draft| draft.name),
            Home::Found(_) => None,
        }
    }

    /// The name an optimized model is shown under.
    pub fn rapid_name(&self, rapid: RapidId) -> Option<String> {
        self.known().rapids.name(rapid.0).map(str::to_owned)
    }

    /// The path of a source model's folder.
    pub fn home_path(&self, home: Home) -> String {
        let name = self.model_name(home);
        format!("/rawmodels/{}", name.unwrap_or_else(|| home.to_string()))
    }

    /// The path of an optimized model's folder.
    pub fn rapid_path(&self, rapid: RapidId) -> String {
        let name = self.rapid_name(rapid);
        format!("/rapidmodels/{}", name.unwrap_or_else(|| rapid.to_string()))
    }
}

/// The model of the tree that shows a model of the service.
pub fn shown_as(catalog: &Catalog, subject: ModelId) -> Model {
    match subject {
        ModelId::Asset(asset) => Model::Raw(catalog.home_of(asset)),
        ModelId::Rapid(rapid) => Model::Rapid(rapid),
    }
}

/// The model of the service; `None` for a draft.
pub fn subject_of(catalog: &Catalog, model: Model) -> Option<ModelId> {
    match model {
        Model::Raw(home) => catalog.asset_of(home).map(ModelId::Asset),
        Model::Rapid(rapid) => Some(ModelId::Rapid(rapid)),
    }
}

/// The path of the `.assetfs` folder of a folder.
pub fn hidden_path(catalog: &Catalog, parent: HiddenParent) -> String {
    let folder = match parent {
        HiddenParent::Root => String::new(),
        HiddenParent::Model(model) => model_path(catalog, model),
        top => format!("/{}", top.folder_name()),
    };
    format!("{folder}/{HIDDEN_FOLDER}")
}

/// The path of a model's folder.
pub fn model_path(catalog: &Catalog, model: Model) -> String {
    match model {
        Model::Raw(home) => catalog.home_path(home),
        Model::Rapid(rapid) => catalog.rapid_path(rapid),
    }
}

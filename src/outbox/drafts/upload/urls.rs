//! The signed URLs of an upload's objects. An earlier run leaves them encrypted in the journal.

use std::collections::BTreeMap;

use crate::outbox::drafts::draft::Attempt;
use crate::outbox::drafts::upload::plan::Urls;
use crate::outbox::drafts::upload::seal::Seal;
use crate::wire::{Downloads, SignedUrl};

#[derive(Default)]
pub(super) struct ObjectUrls {
    by_object: BTreeMap<usize, SignedUrl>,
    are_expired: bool,
}

impl ObjectUrls {
    pub(super) fn state(&self) -> Urls {
        match (self.are_expired, self.by_object.is_empty()) {
            (true, _) => Urls::Expired,
            (false, true) => Urls::None,
            (false, false) => Urls::Good,
        }
    }

    pub(super) fn get(&self, object: usize) -> Option<&SignedUrl> {
        self.by_object.get(&object)
    }

    /// The storage refused them.
    pub(super) fn expire(&mut self) {
        self.are_expired = true;
    }

    /// Takes the URLs of the objects with these names; returns the first name without a URL.
    pub(super) fn take<'a>(&mut self, names: &'a [String], urls: &Downloads) -> Option<&'a String> {
        let named = names.iter().enumerate();
        self.by_object = named
            .filter_map(|(at, name)| Some((at, urls.get(name)?.clone())))
            .collect();
        names.iter().find(|name| urls.get(name).is_none())
    }

    /// Reads the URLs of an attempt that an earlier run started.
    pub(super) fn recall(&mut self, attempt: &Attempt, seal: &Seal) {
        let Some(sealed) = attempt
            .urls
            .as_deref()
            .filter(|_| self.by_object.is_empty())
        else {
            return;
        };
        let text = seal.reveal(sealed);
        let urls = text.and_then(|text| serde_json::from_str::<Downloads>(&text).ok());
        if let Some(urls) = urls {
            self.take(&attempt.manifest.object_names(), &urls);
        }
    }
}

/// The URLs, encrypted for the journal.
pub(super) fn sealed(urls: &Downloads, seal: &Seal) -> Option<String> {
    let text: BTreeMap<&str, &str> = urls
        .iter()
        .map(|(name, url)| (name, url.expose()))
        .collect();
    let text = serde_json::to_string(&text).ok()?;
    Some(seal.close(&text))
}

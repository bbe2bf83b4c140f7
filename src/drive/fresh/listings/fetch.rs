//! Asking for a listing: the one page that may confirm it, else all pages.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard};
use std::time::{Instant, SystemTime};

use futures_util::TryStreamExt as _;
use serde::Serialize;

use super::Which;
use crate::client::{ClientError, EmbedQuery, ListQuery, Priority};
use crate::drive::error::DriveResult;
use crate::drive::places::{DropFolder, JobLink, top_folder};
use crate::drive::shared::{Known, Shared};
use crate::drive::tree::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRapid, KnownRecord};
use crate::drive::tree::listing::{Changes, Confirmation, Listing, Row};
use crate::drive::tree::node::Top;
use crate::outbox::DraftKind;
use crate::wire::{BaseAsset, RapidId};

/// Somebody waits for each listing that is asked for here.
const NOW: Priority = Priority::Interactive;
/// Records on a page.
const PER_PAGE: usize = 50;
/// Embeds on a page: as many as the service likes.
const EMBEDS_PER_PAGE: usize = 12;

impl Shared {
    pub(super) async fn fetch(self: Arc<Self>, which: Which) -> DriveResult<()> {
        let result = match which {
            Which::Assets => self.fetch_assets().await,
            Which::Rapids => self.fetch_rapids().await,
            Which::Presets => self.fetch_presets().await,
            Which::Factory => self.fetch_factory().await,
            Which::Embeds => self.fetch_embeds().await,
            Which::Tokens => self.fetch_tokens().await,
            Which::Webhooks => self.fetch_webhooks().await,
            Which::Jobs => self.fetch_jobs().await,
        };
        if result.is_err() {
            self.known().belief(which).failed(Instant::now());
        }
        result
    }

    async fn fetch_assets(&self) -> DriveResult<()> {
        let began = Instant::now();
        let page = self.known().assets.confirming_page(began, PER_PAGE);
        if let Some(page) = page {
            let query = ListQuery::all().at_page(page.into());
            let reply = self.asked(self.client.list_assets(query, NOW)).await?;
            if reply.unreadable == 0 {
                let confirmed = self.told_assets(reply.data, |listing, rows, taken| match listing
                    .confirm(reply.meta.total, rows, began, Instant::now(), taken)
                {
                    Confirmation::Holds(changes) => Some(changes),
                    Confirmation::NeedsFullPass => None,
                });
                if confirmed {
                    return Ok(());
                }
            }
        }
        if !self.is_listed(Which::Assets) && self.first_assets(began).await? {
            return Ok(());
        }
        let mut pages = self.client.asset_pages(None, NOW);
        let mut rows = Vec::new();
        while let Some(page) = self.asked(pages.try_next()).await? {
            rows.extend(page.data.iter().map(KnownAsset::from_record));
        }
        let changes = self.learned_rows(rows, |listing, rows, taken| {
            Some(listing.replace(rows, began, Instant::now(), taken))
        });
        self.assets_changed(&changes.unwrap_or_default());
        Ok(())
    }

    /// Takes records in by `learn`; false when it could not use them.
    pub(super) fn told_assets(
        &self,
        records: Vec<BaseAsset>,
        learn: impl FnOnce(
            &mut Listing<KnownAsset>,
            Vec<KnownAsset>,
            &HashSet<String>,
        ) -> Option<Changes>,
    ) -> bool {
        let rows = records.iter().map(KnownAsset::from_record).collect();
        drop(records);
        let changes = self.learned_rows(rows, learn);
        if let Some(changes) = &changes {
            self.assets_changed(changes);
        }
        changes.is_some()
    }

    /// The same with rows, and tells nobody yet.
    pub(super) fn learned_rows(
        &self,
        rows: Vec<KnownAsset>,
        learn: impl FnOnce(
            &mut Listing<KnownAsset>,
            Vec<KnownAsset>,
            &HashSet<String>,
        ) -> Option<Changes>,
    ) -> Option<Changes> {
        let taken = self.draft_names();
        let mut known = self.known();
        for row in &rows {
            self.claim_made(&mut known, row);
        }
        let changes = learn(&mut known.assets, rows, &taken)?;
        self.keep(
            Which::Assets,
            &mut known,
            |known| &mut known.assets,
            &changes,
        );
        Some(changes)
    }

    /// Keeps what changed among the assets, and tells the kernel.
    pub(super) fn told_asset_changes(&self, mut known: MutexGuard<'_, Known>, changes: &Changes) {
        self.keep(
            Which::Assets,
            &mut known,
            |known| &mut known.assets,
            changes,
        );
        drop(known);
        self.assets_changed(changes);
    }

    /// An asset that was copied in here keeps the name of its draft.
    fn claim_made(&self, known: &mut Known, row: &KnownAsset) {
        if let Some(record) = self.outbox.sent_record(row.id)
            && record.kind == DraftKind::Folder
        {
            known.assets.claim(row.id.0, &record.name, &row.name);
        }
    }

    async fn fetch_rapids(&self) -> DriveResult<()> {
        let began = Instant::now();
        let page = self.known().rapids.confirming_page(began, PER_PAGE);
        if let Some(page) = page {
            let query = ListQuery::all().at_page(page.into());
            let reply = self
                .asked(self.client.list_rapid_models(query, NOW))
                .await?;
            let rows = reply.data.iter().map(KnownRapid::from_record).collect();
            let mut known = self.known();
            let now = Instant::now();
            let confirmation =
                known
                    .rapids
                    .confirm(reply.meta.total, rows, began, now, &Default::default());
            if let Confirmation::Holds(changes) = confirmation {
                self.told_rapids(known, &changes);
                return Ok(());
            }
        }
        if !self.is_listed(Which::Rapids) && self.first_rapids(began).await? {
            return Ok(());
        }
        let mut pages = self.client.rapid_pages(None, NOW);
        let mut rows = Vec::new();
        while let Some(page) = self.asked(pages.try_next()).await? {
            rows.extend(page.data.iter().map(KnownRapid::from_record));
        }
        let mut known = self.known();
        let changes = known
            .rapids
            .replace(rows, began, Instant::now(), &Default::default());
        self.told_rapids(known, &changes);
        Ok(())
    }

    pub(super) fn told_rapids(&self, mut known: MutexGuard<'_, Known>, changes: &Changes) {
        self.keep(
            Which::Rapids,
            &mut known,
            |known| &mut known.rapids,
            changes,
        );
        drop(known);
        self.rapids_changed(changes);
    }

    async fn fetch_presets(&self) -> DriveResult<()> {
        let before = self.preset_overlay();
        let all = self.client.presets(NOW);
        self.fetch_whole(
            Which::Presets,
            |known| &mut known.presets,
            all,
            KnownPreset::from_record,
        )
        .await?;
        if !before.saved.is_empty() {
            self.keep_for_good().await?;
            self.outbox.presets_listed(&before).await?;
        }
        Ok(())
    }

    async fn fetch_factory(&self) -> DriveResult<()> {
        let all = self.client.factory_presets(NOW);
        self.fetch_whole(
            Which::Factory,
            |known| &mut known.factory,
            all,
            KnownPreset::from_factory_record,
        )
        .await
    }

    async fn fetch_tokens(&self) -> DriveResult<()> {
        let all = self.client.tokens(NOW);
        self.fetch_whole(
            Which::Tokens,
            |known| &mut known.tokens,
            all,
            KnownRecord::from_token,
        )
        .await
    }

    async fn fetch_webhooks(&self) -> DriveResult<()> {
        let all = self.client.webhooks(NOW);
        self.fetch_whole(
            Which::Webhooks,
            |known| &mut known.webhooks,
            all,
            KnownRecord::from_webhook,
        )
        .await
    }

    /// A listing that one request tells whole.
    async fn fetch_whole<T, R: Row + Serialize>(
        &self,
        which: Which,
        listing: fn(&mut Known) -> &mut Listing<R>,
        all: impl Future<Output = Result<Vec<T>, ClientError>>,
        row: fn(&T) -> R,
    ) -> DriveResult<()> {
        let began = Instant::now();
        let records = self.asked(all).await?;
        self.told_all(which, listing, records.iter().map(row).collect(), began);
        Ok(())
    }

    async fn fetch_embeds(&self) -> DriveResult<()> {
        let began = Instant::now();
        let page = self.known().embeds.confirming_page(began, EMBEDS_PER_PAGE);
        if let Some(page) = page {
            let query = EmbedQuery {
                page: Some(page.into()),
                ..EmbedQuery::default()
            };
            let reply = self.asked(self.client.list_embeds(query, NOW)).await?;
            let rows = reply.data.iter().map(KnownEmbed::from_record).collect();
            let mut known = self.known();
            let confirmation = known.embeds.confirm(
                reply.meta.total,
                rows,
                began,
                Instant::now(),
                &HashSet::new(),
            );
            if let Confirmation::Holds(changes) = confirmation {
                self.told_changes(Which::Embeds, |known| &mut known.embeds, known, &changes);
                return Ok(());
            }
        }
        let records = self.asked(self.client.all_embeds(None, NOW)).await?;
        let rows = records.iter().map(KnownEmbed::from_record).collect();
        self.told_all(Which::Embeds, |known| &mut known.embeds, rows, began);
        Ok(())
    }

    /// What runs or failed: one request tells of all.
    async fn fetch_jobs(&self) -> DriveResult<()> {
        let began = Instant::now();
        let records = self.asked(self.client.running_jobs(NOW)).await?;
        for record in &records {
            self.told_rapid(KnownRapid::from_record(record), began);
        }
        self.told_jobs(records.iter().map(|record| record.id).collect(), began);
        Ok(())
    }

    /// Takes in which optimizations run or failed lately.
    pub(in crate::drive) fn told_jobs(&self, mut rapids: Vec<RapidId>, asked: Instant) {
        rapids.sort_unstable();
        let (before, is_news) = {
            let mut known = self.known();
            let is_news = !known.jobs_belief.is_known();
            known.jobs_belief.confirmed(asked, Instant::now());
            let before = std::mem::replace(&mut known.jobs, rapids.clone());
            if before != rapids {
                known.changed.insert(Top::Jobs, SystemTime::now());
            }
            (before, is_news)
        };
        if is_news || before != rapids {
            super::store::keep_jobs(&self.meta, &rapids);
        }
        for rapid in before.iter().filter(|rapid| !rapids.contains(rapid)) {
            if let Some(name) = self.rapid_name(*rapid) {
                self.tell_removed(DropFolder::Jobs, JobLink(*rapid), &name);
            }
        }
    }

    /// Takes in a whole listing.
    fn told_all<R: Row + Serialize>(
        &self,
        which: Which,
        listing: fn(&mut Known) -> &mut Listing<R>,
        rows: Vec<R>,
        began: Instant,
    ) {
        let mut known = self.known();
        let changes = listing(&mut known).replace(rows, began, Instant::now(), &HashSet::new());
        self.told_changes(which, listing, known, &changes);
    }

    pub(in crate::drive) fn told_changes<R: Row + Serialize>(
        &self,
        which: Which,
        listing: fn(&mut Known) -> &mut Listing<R>,
        mut known: MutexGuard<'_, Known>,
        changes: &Changes,
    ) {
        self.keep(which, &mut known, listing, changes);
        let rows = listing(&mut known);
        let mut names: Vec<String> = changes
            .gone
            .iter()
            .chain(&changes.renamed)
            .map(|(_, name)| name.clone())
            .collect();
        let changed = changes.changed.iter().chain(&changes.appeared);
        names.extend(changed.filter_map(|id| rows.name(*id).map(str::to_owned)));
        drop(known);
        // Another text is another inode: the name stands for something else now.
        for name in names.into_iter().take(super::changes::MAX_TOLD) {
            self.tell_entry(top_folder(which.top()), &name);
        }
    }
}

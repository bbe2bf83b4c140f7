//! Results whose pictures are still to be drawn. What is waited for here survives every end of the process: the row of a
//! result is added with the result, and removed with its pictures.
//!
//! A process claims the results that it draws, and renews the claim. If two draw the same result, because one could not
//! renew in time, the pictures of the first that ends count.

use std::time::Duration;

use super::database::{Result, Tx, places, retried};
use super::files::{self, Area, NewFile};
use super::groups::DrawingRecords;
use super::sql::{columns, micros, record, sql};
use crate::wire::{AssetId, ModelId, RapidId, UserId};

/// What pictures come with or are part of: everything but the results themselves.
const AREAS: [Area; 4] = [Area::Analysis, Area::Render, Area::Turntable, Area::Qc];

record! {
    /// A result without its pictures.
    #[derive(Debug, Clone)]
    pub struct DrawingRow {
        pub rapid: RapidId = "rapid_id",
        pub user: UserId = "user_id",
        pub asset: AssetId = "asset_id",
        /// How often drawing was begun.
        pub attempts: u64,
    }
}

/// The pictures of a result, and what was found with them.
#[derive(Debug)]
pub struct DrawingEnd {
    /// The report with the similarity, as JSON text.
    pub report: Option<String>,
    /// All files but the exports; they replace those that are there.
    pub files: Vec<NewFile>,
}

pub(super) async fn add(tx: &mut Tx, user: UserId, asset: AssetId, rapid: RapidId) -> Result<()> {
    let insert = sql!(
        "INSERT INTO drawings (rapid_id, user_id, asset_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        rapid,
        user,
        asset,
    );
    tx.run(insert).await.map(drop)
}

impl DrawingRecords<'_> {
    /// Claims the results of the asset whose result waits longest, `most` at most, for the time `lease`: no other process
    /// draws them in this time.
    pub async fn claim(self, most: u64, lease: Duration) -> Result<Vec<DrawingRow>> {
        let columns = columns::<DrawingRow>("");
        let update = sql!(
            format!(
                "UPDATE drawings SET lease_until = now_micros() + $2 WHERE lease_until <= now_micros() AND rapid_id IN \
                 (SELECT rapid_id FROM drawings WHERE lease_until <= now_micros() AND asset_id = \
                 (SELECT asset_id FROM drawings WHERE lease_until <= now_micros() ORDER BY rapid_id LIMIT 1) \
                 ORDER BY rapid_id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING {columns}"
            ),
            most,
            micros(lease),
        );
        let mut claimed: Vec<DrawingRow> = self.database.all(update).await?;
        claimed.sort_by_key(|drawing| drawing.rapid);
        Ok(claimed)
    }

    /// Those of these results whose pictures are still to be drawn.
    pub async fn waiting(self, rapids: &[RapidId]) -> Result<Vec<RapidId>> {
        if rapids.is_empty() {
            return Ok(Vec::new());
        }
        let places = places(1, rapids.len());
        let query = sql!(format!(
            "SELECT rapid_id FROM drawings WHERE rapid_id IN ({places})"
        ));
        let query = query.bind_all(rapids.iter().map(|rapid| rapid.0));
        self.database.all(query).await
    }

    /// Renews the claims on results of an asset.
    pub async fn renew(self, asset: AssetId, lease: Duration) -> Result<()> {
        let update = "UPDATE drawings SET lease_until = now_micros() + $2 WHERE asset_id = $1 AND lease_until > 0";
        let renewed = self.database.run(sql!(update, asset, micros(lease)));
        renewed.await.map(drop)
    }

    /// Ends the claim on a result, if it still waits.
    pub async fn release(self, rapid: RapidId) -> Result<()> {
        let update = "UPDATE drawings SET lease_until = 0 WHERE rapid_id = $1";
        self.database.run(sql!(update, rapid)).await.map(drop)
    }

    /// Ends all claims: their process has ended.
    pub async fn release_all(self) -> Result<()> {
        let update = sql!("UPDATE drawings SET lease_until = 0 WHERE lease_until > 0");
        self.database.run(update).await.map(drop)
    }

    /// Counts an attempt, before it is made: a model that ends this process is not drawn without end.
    pub async fn begin(self, rapid: RapidId) -> Result<()> {
        let update = "UPDATE drawings SET attempts = attempts + 1 WHERE rapid_id = $1";
        self.database.run(sql!(update, rapid)).await.map(drop)
    }

    /// The attempt does not count: it was stopped, or the model is not the cause of its failure.
    pub async fn uncount(self, rapid: RapidId) -> Result<()> {
        let update = "UPDATE drawings SET attempts = attempts - 1 WHERE rapid_id = $1";
        self.database.run(sql!(update, rapid)).await.map(drop)
    }

    /// The result stays without pictures.
    pub async fn give_up(self, rapid: RapidId) -> Result<()> {
        let delete = "DELETE FROM drawings WHERE rapid_id = $1";
        self.database.run(sql!(delete, rapid)).await.map(drop)
    }

    /// Adds the pictures of a result. Returns the replaced blobs; `None` if the result was deleted: then the new files
    /// have no owner.
    pub async fn end(self, drawing: &DrawingRow, end: &DrawingEnd) -> Result<Option<Vec<String>>> {
        retried!({
            let mut tx = self.database.begin_locking(drawing.user).await?;
            let delete = "DELETE FROM drawings WHERE rapid_id = $1";
            if tx.run(sql!(delete, drawing.rapid)).await? == 0 {
                return Ok(None);
            }
            let update = sql!(
                "UPDATE rapids SET report = COALESCE($2, report), updated_at = $3 WHERE id = $1",
                drawing.rapid,
                end.report,
                tx.now(),
            );
            if tx.run(update).await? == 0 {
                return Ok(None);
            }
            let owner = ModelId::Rapid(drawing.rapid);
            let replaced = files::remove(&mut tx, drawing.user, &[owner], &AREAS).await?;
            files::add_result(&mut tx, drawing.user, owner, &end.files).await?;
            tx.commit().await?;
            Ok(Some(replaced))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::records::Records;

    const LEASE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_claimed_result_is_drawn_by_nobody_else_until_its_claim_ends() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let (user, another) = (UserId(7), UserId(8));
        let mut tx = records.database.begin().await.unwrap();
        for (rapid, asset, user) in [(1, 10, user), (2, 11, another), (3, 10, user)] {
            let added = add(&mut tx, user, AssetId(asset), RapidId(rapid)).await;
            added.unwrap();
        }
        tx.commit().await.unwrap();
        let drawings = records.drawings();
        let claimed = async |most, lease| -> Vec<u64> {
            let claimed = drawings.claim(most, lease).await.unwrap();
            claimed.into_iter().map(|drawing| drawing.rapid.0).collect()
        };
        assert_eq!(claimed(16, LEASE).await, [1, 3], "those of one model");
        assert_eq!(claimed(16, LEASE).await, [2]);
        assert_eq!(claimed(16, LEASE).await, [0; 0]);
        drawings.release(RapidId(3)).await.unwrap();
        assert_eq!(claimed(16, Duration::ZERO).await, [3]);
        assert_eq!(claimed(16, LEASE).await, [3], "its claim has expired");
        drawings.release_all().await.unwrap();
        assert_eq!(claimed(1, Duration::ZERO).await, [1]);
        drawings.renew(AssetId(10), LEASE).await.unwrap();
        assert_eq!(claimed(16, LEASE).await, [2]);
        assert_eq!(claimed(16, LEASE).await, [3], "the other is renewed");
        records.accounts().delete(user).await.unwrap();
        drawings.release_all().await.unwrap();
        assert_eq!(claimed(16, LEASE).await, [2], "of a deleted account");
    }
}

//! Another machine that sends the same models at the same moment: it starts an upload first, or joins one of ours, and
//! then completes it, gives it up, or does nothing more.
//!
//! The rule that is checked: what another machine has started or joined is never deleted by this one.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::scripted::{ScriptedReply, ScriptedRequest};
use crate::outbox::simulator::hook;
use crate::outbox::simulator::hook::{below, chance};
use crate::outbox::simulator::service::{Asset, Holdings, no_such, reply};

/// An upload that several machines may send.
#[derive(Debug, Clone)]
pub struct SharedUpload {
    join_key: String,
    /// The idempotency key of the start that created it; `None` if that was another machine's.
    start_key: Option<String>,
    /// Whether a second machine has joined.
    is_joined: bool,
    /// What the other machine does next.
    plan: Option<(Instant, Plan)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// It starts the same upload.
    Join,
    /// It completes the upload once all bytes are there.
    Complete,
    GiveUp,
}

impl SharedUpload {
    fn is_made_elsewhere(&self) -> bool {
        self.start_key.is_none()
    }
}

impl Asset {
    /// Whether another machine has started or joined its upload.
    pub fn has_partner(&self) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|it| it.is_joined || it.is_made_elsewhere())
    }

    fn is_failed(&self) -> bool {
        self.status == "importing_failed"
    }

    pub(super) fn begin_import(&mut self) {
        self.status = "analysing".to_owned();
        let end = match chance(4) {
            true => "importing_failed",
            false => "complete",
        };
        let at = Instant::now() + Duration::from_millis(below(30_000));
        self.import = Some((at, end.to_owned()));
    }
}

impl Holdings {
    /// Starts an upload that others may start, too.
    pub(super) fn start_together(
        &mut self,
        request: &ScriptedRequest,
        body: &Value,
        names: &[String],
        join_key: &str,
    ) -> ScriptedReply {
        let own_key = request.idempotency_key.clone().unwrap_or_default();
        let found = |assets: &Holdings, wanted: &dyn Fn(&Asset, &SharedUpload) -> bool| {
            let mut assets = assets.assets.iter();
            let is_it = |it: &Asset| it.shared.as_ref().is_some_and(|shared| wanted(it, shared));
            assets.find(|(_, it)| is_it(it)).map(|(id, _)| *id)
        };
        let is_own = |_: &Asset, it: &SharedUpload| it.start_key.as_ref() == Some(&own_key);
        let is_same =
            |asset: &Asset, it: &SharedUpload| is_own(asset, it) && it.join_key == join_key;
        if let Some(id) = found(self, &is_same) {
            return self.begin_shared(id, names, false);
        }
        let is_joinable =
            |asset: &Asset, it: &SharedUpload| it.join_key == join_key && !asset.is_failed();
        if let Some(id) = found(self, &is_joinable) {
            self.shared_mut(id).is_joined = true;
            return self.begin_shared(id, names, true);
        }
        // The start of other content that was never answered.
        if let Some(id) = found(self, &is_own) {
            let shared = self.shared_mut(id);
            match shared.is_joined {
                false => {
                    join_key.clone_into(&mut shared.join_key);
                    return self.begin_shared(id, names, false);
                }
                true => shared.start_key = Some("forgotten".to_owned()),
            }
        }
        let is_first = chance(30);
        let id = self.insert_started(body, names);
        let plan = match (is_first, below(10)) {
            (true, 0..4) => Some(Plan::Complete),
            (true, 4..8) => Some(Plan::GiveUp),
            (false, 0..3) => Some(Plan::Join),
            _ => None,
        };
        let at = Instant::now() + Duration::from_millis(below(30_000));
        let asset = self.assets.get_mut(&id).expect("it was made");
        asset.shared = Some(SharedUpload {
            join_key: join_key.to_owned(),
            start_key: (!is_first).then_some(own_key),
            is_joined: is_first,
            plan: plan.map(|plan| (at, plan)),
        });
        if is_first {
            hook::note(format!("another machine has started {id}"));
        }
        self.begin_shared(id, names, is_first)
    }

    fn shared_mut(&mut self, id: u64) -> &mut SharedUpload {
        let asset = self.assets.get_mut(&id).and_then(|it| it.shared.as_mut());
        asset.expect("it was found by its key")
    }

    fn begin_shared(&mut self, id: u64, names: &[String], joined: bool) -> ScriptedReply {
        let mut started = self.begin(id, names);
        if let Ok(Value::Object(mut body)) = serde_json::from_slice(&started.body)
            && started.status == 200
        {
            body.insert("joined".to_owned(), json!(joined));
            started.body = Value::from(body).to_string().into_bytes();
        }
        started
    }

    /// Gives up an upload: it stays if another machine has joined it.
    pub(super) fn abandon(&mut self, id: Option<u64>) -> ScriptedReply {
        let Some((id, asset)) = id.and_then(|id| Some((id, self.assets.get_mut(&id)?))) else {
            return no_such();
        };
        let Some(shared) = &asset.shared else {
            self.violation("an upload was given up that nobody could join".to_owned());
            return no_such();
        };
        if shared.is_made_elsewhere() {
            let name = asset.name.clone();
            self.violation(format!("{name} of another machine was given up"));
        }
        let asset = &self.assets[&id];
        if asset.has_partner() && !asset.is_failed() {
            return reply(409, json!({"message": "another client has joined"}));
        }
        if asset.has_partner() {
            hook::note(format!("{id} has failed and goes"));
            self.assets.remove(&id);
            self.deleted.insert(id);
            return reply(200, Value::Null);
        }
        self.delete_asset(Some(id))
    }

    /// What other machines have done meanwhile.
    pub(super) fn let_others_work(&mut self) {
        let now = Instant::now();
        let due = |it: &Asset| {
            let (at, plan) = it.shared.as_ref()?.plan?;
            (at <= now).then_some(plan)
        };
        let assets = self.assets.iter();
        let due: Vec<(u64, Plan)> = assets
            .filter_map(|(id, it)| Some((*id, due(it)?)))
            .collect();
        for (id, plan) in due {
            self.carry_out(id, plan);
        }
    }

    fn carry_out(&mut self, id: u64, plan: Plan) {
        let asset = self.assets.get_mut(&id).expect("it is due");
        let is_incomplete = asset.status == "incomplete";
        let is_failed = asset.is_failed();
        let is_whole = asset.files.values().all(Option::is_some);
        let shared = asset.shared.as_mut().expect("it has a plan");
        match plan {
            Plan::Join if is_failed => shared.plan = None,
            Plan::Join => {
                hook::note(format!("another machine joins {id}"));
                shared.is_joined = true;
                let at = Instant::now() + Duration::from_millis(below(20_000));
                shared.plan = chance(50).then_some((at, Plan::Complete));
            }
            Plan::Complete if is_incomplete && !is_whole => {}
            Plan::Complete => {
                shared.plan = None;
                if is_incomplete {
                    hook::note(format!("another machine completes {id}"));
                    asset.begin_import();
                }
            }
            // It does not know whether we have joined: on the service it may go only if we have not.
            Plan::GiveUp => {
                shared.plan = None;
                if is_incomplete && chance(50) {
                    hook::note(format!("another machine deletes {id} on its page"));
                    self.assets.remove(&id);
                }
            }
        }
    }
}

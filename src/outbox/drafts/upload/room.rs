//! The free storage of the account: an upload begins only if it fits, and one that the service refuses because it does not
//! fit any more waits until it does.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::client::{ClientError, Priority};
use crate::outbox::drafts::activity::Trouble;
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::settle::facts;
use crate::outbox::drafts::upload::link::{DraftLink, Flow};
use crate::outbox::effect::Effect;
use crate::outbox::ids::DraftId;

/// Until it is dropped, no other upload looks at the account: the caller records its upload meanwhile, so that the next look
/// counts it.
pub(super) type Turn = OwnedMutexGuard<()>;

/// Takes room for a new upload of the draft. If the service does not report the free storage, the upload continues. A draft
/// that is cancelled meanwhile leaves the turn to others at once, also while the service does not answer.
///
/// # Errors
/// What the upload does if nothing can be started now.
pub(super) async fn take(link: &mut DraftLink) -> Result<Option<Turn>, Flow> {
    let live = link.live().clone();
    tokio::select! {
        biased;
        () = live.stopped() => Err(Flow::End),
        taken = take_in_turn(link) => taken,
    }
}

async fn take_in_turn(link: &mut DraftLink) -> Result<Option<Turn>, Flow> {
    let needed = {
        let memory = link.parts().memory();
        let draft = memory.state.drafts.get(&link.draft());
        let draft = draft.ok_or(Flow::End)?;
        facts::manifest_of(&memory, draft).total_size()
    };
    let turn = Arc::clone(&link.parts().own.room_turn).lock_owned();
    let turn = link.parts().tasks.until_closed(link.in_turn(turn)).await;
    let turn = turn.ok_or(Flow::End)?;
    if link.parts().own.room.take(needed) {
        return Ok(Some(turn));
    }
    let left = match look(link).await.ok_or(Flow::End)? {
        Ok(None) => return Ok(Some(turn)),
        Ok(Some(left)) => left,
        // Nothing can be started while the service does not answer.
        Err(error) if Effect::of(&error) == Effect::NotYet => {
            return Err(link.retry_after(Trouble::Service(error)));
        }
        Err(_) => return Ok(Some(turn)),
    };
    let left = left.saturating_sub(under_way(&link.parts().memory(), link.draft()));
    link.parts().own.room.looked(left.saturating_sub(needed));
    match left < needed {
        true => Err(link.retry_after(Trouble::Quota { needed, left })),
        false => Ok(Some(turn)),
    }
}

/// Why an upload of `needed` bytes was refused.
pub(super) enum RoomRefusal {
    /// The account has less room. What the upload has stored takes some that another one may need.
    Full(Flow),
    /// It had less room a moment ago, or does not say now what it has left: the upload is tried again as it is.
    Again(Flow),
    Other,
}

impl RoomRefusal {
    /// What the upload does if it has nothing stored that could be given up.
    pub(super) fn flow(self) -> Option<Flow> {
        match self {
            RoomRefusal::Full(flow) | RoomRefusal::Again(flow) => Some(flow),
            RoomRefusal::Other => None,
        }
    }
}

/// How often in a row an upload is refused for lack of room although there is enough, until that counts as another reason: the
/// limit of a proxy looks the same.
const FREED_MEANWHILE: u32 = 5;

/// Finds out why the service refused an upload.
pub(super) async fn why_refused(
    link: &mut DraftLink,
    error: &ClientError,
    needed: u64,
) -> RoomRefusal {
    if !error.is_account_full() {
        return RoomRefusal::Other;
    }
    match look(link).await {
        None => RoomRefusal::Again(Flow::End),
        Some(Ok(Some(left))) => {
            let trouble = Trouble::Quota { needed, left };
            if left < needed {
                let under_way = under_way(&link.parts().memory(), link.draft());
                link.parts().own.room.looked(left.saturating_sub(under_way));
                return RoomRefusal::Full(link.retry_after(trouble));
            }
            link.room_refusals += 1;
            match link.room_refusals <= FREED_MEANWHILE {
                true => RoomRefusal::Again(link.retry_after(trouble)),
                false => RoomRefusal::Other,
            }
        }
        Some(Err(error)) if Effect::of(&error) == Effect::NotYet => {
            RoomRefusal::Again(link.retry_after(Trouble::Service(error)))
        }
        Some(_) => RoomRefusal::Other,
    }
}

/// Asks for the free storage; `None` if the outbox closes.
async fn look(link: &DraftLink) -> Option<Result<Option<u64>, ClientError>> {
    let account = link.parts().client.account();
    let call = link.in_turn(account.storage_left(Priority::Background));
    let left = link.parts().tasks.until_closed(call).await?;
    let left = left.map(|storage| storage.storage_left);
    if let Ok(Some(left)) = &left {
        link.parts().storage_is_left(*left);
    }
    Some(left)
}

/// Total size of the uploads of other drafts that are not complete yet. A service may count the files that are stored already
/// as used space, or only when the upload is complete. If it counts them, they are counted twice here, and a draft waits a
/// little longer than necessary; otherwise it could be sent and then refused.
fn under_way(memory: &DraftsMemory, id: DraftId) -> u64 {
    let drafts = memory.state.drafts.iter();
    let others = drafts.filter(|(other, draft)| **other != id && draft.failure.is_none());
    let attempts = others.filter_map(|(_, draft)| draft.attempt.as_ref());
    attempts.map(|attempt| attempt.bytes_under_way()).sum()
}

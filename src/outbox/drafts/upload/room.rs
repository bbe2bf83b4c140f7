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

/// Takes room for a new upload of the draft. If the service does not report the free storage, the upload continues.
///
/// # Errors
/// What the upload does if nothing can be started now.
pub(super) async fn take(link: &mut DraftLink) -> Result<Option<Turn>, Flow> {
    let needed = {
        let memory = link.parts().memory();
        let draft = memory.state.drafts.get(&link.draft());
        let draft = draft.ok_or(Flow::End)?;
        facts::manifest_of(&memory, draft).total_size()
    };
    let turn = Arc::clone(&link.parts().own.room_turn).lock_owned();
    let turn = link.parts().tasks.until_closed(turn).await;
    let turn = turn.ok_or(Flow::End)?;
    if link.parts().own.room.take(needed) {
        return Ok(None);
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

/// What the upload does if the service refused it because the account has less than `needed` left, or does not say what it has
/// left; `None` if it was refused for another reason.
pub(super) async fn wait_if_full(
    link: &mut DraftLink,
    error: &ClientError,
    needed: u64,
) -> Option<Flow> {
    if !error.is_account_full() {
        return None;
    }
    match look(link).await {
        None => Some(Flow::End),
        Some(Ok(Some(left))) if left < needed => {
            link.parts().own.room.looked(left);
            Some(link.retry_after(Trouble::Quota { needed, left }))
        }
        Some(Err(error)) if Effect::of(&error) == Effect::NotYet => {
            Some(link.retry_after(Trouble::Service(error)))
        }
        Some(_) => None,
    }
}

/// Bytes of the draft's upload that are not stored yet.
pub(super) fn unsent(link: &DraftLink) -> u64 {
    let memory = link.parts().memory();
    let draft = memory.state.drafts.get(&link.draft());
    let attempt = draft.and_then(|draft| draft.attempt.as_ref());
    attempt.map_or(0, |attempt| attempt.unsent_bytes())
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

/// Bytes that uploads of other drafts have begun to send, and that the account does not count yet.
fn under_way(memory: &DraftsMemory, id: DraftId) -> u64 {
    let drafts = memory.state.drafts.iter();
    let others = drafts.filter(|(other, draft)| **other != id && draft.failure.is_none());
    let attempts = others.filter_map(|(_, draft)| draft.attempt.as_ref());
    attempts.map(|attempt| attempt.unsent_bytes()).sum()
}

//! The next step for a file of a drop folder, and for a request whose reply was lost. Pure.
//!
//! Invariant: a request is planned only for a file that is to be sent, whose models are ready, and whose text was not
//! sent for them before, unless a command asked to pay again. A request that was sent is searched for. If it is not found
//! in time, it stays unknown, unless its idempotency key makes sure that the service performs it once, however often it is
//! sent.

use crate::outbox::jobs::book::Wanted;

/// The known state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobView {
    /// Whether it is to be sent; `None` if it was removed.
    pub wanted: Option<Wanted>,
    /// Why its text is not a valid job.
    pub wrong: Option<String>,
    /// The state of its models.
    pub models: Models,
    /// The earlier request of the same text for the same models.
    pub sent_before: Option<String>,
}

/// The state of the models of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Models {
    /// The service has not accepted all of them yet.
    NotThere,
    /// Not requested yet, or no answer.
    Unknown,
    /// One of them is not complete yet.
    NotReady,
    /// One of them can never be used; the text says why.
    Unusable(String),
    Ready,
}

/// The next step for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobStep {
    Rest,
    /// Record why it is not sent.
    Hold(String),
    /// Wait until its models are on the service.
    WaitForModels,
    /// Request the state of its models.
    Ask,
    /// Request it again after a pause.
    AskLater,
    /// Use the earlier request of the same text.
    Join(String),
    /// Send it.
    Send,
}

/// The next step for a file.
pub fn next_job_step(view: &JobView) -> JobStep {
    let Some(wanted) = view.wanted.filter(|wanted| *wanted != Wanted::No) else {
        return JobStep::Rest;
    };
    if let Some(reason) = &view.wrong {
        return JobStep::Hold(reason.clone());
    }
    // An earlier request is used without a check of the models, which may be gone by now.
    if let Some(request) = view.sent_before.as_ref().filter(|_| wanted == Wanted::Once) {
        return JobStep::Join(request.clone());
    }
    match &view.models {
        Models::NotThere => JobStep::WaitForModels,
        Models::Unknown => JobStep::Ask,
        Models::NotReady => JobStep::AskLater,
        Models::Unusable(reason) => JobStep::Hold(reason.clone()),
        Models::Ready => JobStep::Send,
    }
}

/// The result of a search for a lost request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The result of the job.
    Found(T),
    /// The service has no result of it.
    NotThere,
    /// Its model is gone.
    Gone,
    /// The service did not answer.
    Silence,
}

/// The next step for a lost request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchStep<T> {
    /// It took effect.
    Take(T),
    /// Its outcome stays unknown.
    GiveUp,
    /// Send it again, with the same idempotency key.
    SendAgain,
    /// It no longer matters.
    Drop,
    /// Search again after a pause.
    LookLater,
}

/// The next step of a search; `last_look` if the time was over before the request. Only such an answer counts as "not
/// there". `is_deduplicated` if the service performs the request only once, also if it is sent again.
pub fn next_search_step<T>(
    answer: Answer<T>,
    last_look: bool,
    is_deduplicated: bool,
) -> SearchStep<T> {
    match answer {
        Answer::Found(found) => SearchStep::Take(found),
        Answer::NotThere if last_look && is_deduplicated => SearchStep::SendAgain,
        Answer::NotThere if last_look => SearchStep::GiveUp,
        Answer::Gone => SearchStep::Drop,
        Answer::NotThere | Answer::Silence => SearchStep::LookLater,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn views() -> impl Strategy<Value = JobView> {
        let wanted = prop::sample::select(vec![
            None,
            Some(Wanted::No),
            Some(Wanted::Once),
            Some(Wanted::Again),
        ]);
        let text = prop::option::of(Just("x".to_owned()));
        let models = prop::sample::select(vec![
            Models::NotThere,
            Models::Unknown,
            Models::NotReady,
            Models::Unusable("gone".to_owned()),
            Models::Ready,
        ]);
        (wanted, text.clone(), models, text).prop_map(|(wanted, wrong, models, sent_before)| {
            JobView {
                wanted,
                wrong,
                models,
                sent_before,
            }
        })
    }

    proptest! {
        #[test]
        fn nothing_is_paid_for_that_is_not_wanted_right_and_ready(view in views()) {
            if next_job_step(&view) == JobStep::Send {
                prop_assert!(matches!(view.wanted, Some(Wanted::Once | Wanted::Again)));
                prop_assert_eq!(view.wrong, None);
                prop_assert_eq!(view.models, Models::Ready);
            }
        }

        #[test]
        fn what_was_sent_before_is_sent_again_only_by_hand(view in views()) {
            if view.sent_before.is_some() && view.wanted != Some(Wanted::Again) {
                prop_assert_ne!(next_job_step(&view), JobStep::Send);
            }
        }
    }

    #[test]
    fn a_lost_request_is_sent_again_only_if_the_service_performs_it_once() {
        for (answer, last_look, without_keys, with_keys) in [
            (
                Answer::Found(7),
                false,
                SearchStep::Take(7),
                SearchStep::Take(7),
            ),
            (
                Answer::Found(7),
                true,
                SearchStep::Take(7),
                SearchStep::Take(7),
            ),
            (
                Answer::NotThere,
                false,
                SearchStep::LookLater,
                SearchStep::LookLater,
            ),
            (
                Answer::NotThere,
                true,
                SearchStep::GiveUp,
                SearchStep::SendAgain,
            ),
            (Answer::Gone, false, SearchStep::Drop, SearchStep::Drop),
            (Answer::Gone, true, SearchStep::Drop, SearchStep::Drop),
            (
                Answer::Silence,
                false,
                SearchStep::LookLater,
                SearchStep::LookLater,
            ),
            (
                Answer::Silence,
                true,
                SearchStep::LookLater,
                SearchStep::LookLater,
            ),
        ] {
            let said = format!("{answer:?}, last look: {last_look}");
            assert_eq!(
                next_search_step(answer.clone(), last_look, false),
                without_keys,
                "{said}"
            );
            assert_eq!(
                next_search_step(answer, last_look, true),
                with_keys,
                "{said}"
            );
        }
    }

    #[test]
    fn each_place_a_job_can_be_in_has_its_way_on() {
        let ready = JobView {
            wanted: Some(Wanted::Once),
            wrong: None,
            models: Models::Ready,
            sent_before: None,
        };
        let sent = Some("assetfs-1".to_owned());
        let with = |models| JobView {
            models,
            ..ready.clone()
        };
        let table = [
            (ready.clone(), JobStep::Send),
            (with(Models::NotThere), JobStep::WaitForModels),
            (with(Models::Unknown), JobStep::Ask),
            (with(Models::NotReady), JobStep::AskLater),
            (
                with(Models::Unusable("gone".to_owned())),
                JobStep::Hold("gone".to_owned()),
            ),
            (
                JobView {
                    sent_before: sent.clone(),
                    ..ready.clone()
                },
                JobStep::Join("assetfs-1".to_owned()),
            ),
            (
                JobView {
                    sent_before: sent,
                    wanted: Some(Wanted::Again),
                    ..ready.clone()
                },
                JobStep::Send,
            ),
            (
                JobView {
                    wanted: None,
                    ..ready.clone()
                },
                JobStep::Rest,
            ),
        ];
        for (view, step) in table {
            assert_eq!(next_job_step(&view), step, "{view:?}");
        }
    }
}

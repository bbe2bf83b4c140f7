//! What to do next about a file of a drop folder, and about a request whose answer was lost. Pure.
//!
//! Invariant: a request is planned only for a file that is wanted, whose models are ready, and whose
//! text was not sent for them before unless somebody asked to pay again; a request that went out is
//! never planned again: it is looked for, and what is not found in time stays unknown.

use crate::outbox::jobs::book::Wanted;

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobView {
    /// Whether it is to go out; `None` when it is not there any more.
    pub wanted: Option<Wanted>,
    /// Why its text is no job, where it is none.
    pub wrong: Option<String>,
    /// Whether its models can be used.
    pub models: Models,
    /// The request that the same text made for the same models before.
    pub sent_before: Option<String>,
}

/// Whether the models that a job is about can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Models {
    /// One of them has not been accepted by the service yet.
    NotThere,
    /// They were not asked for yet, or did not answer.
    Unknown,
    /// One of them is still being worked on.
    NotReady,
    /// One of them can never be used; the text says why.
    Unusable(String),
    /// All of them are ready.
    Ready,
}

/// What to do next about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobStep {
    Rest,
    /// Write down why it does not go out.
    Hold(String),
    /// Wait until its models are on the service.
    WaitForModels,
    /// Ask the service for its models.
    Ask,
    /// Ask again after a pause.
    AskLater,
    /// Take part in the request that the same text made before.
    Join(String),
    /// Send it.
    Send,
}

/// The next step of a file.
pub fn next_job_step(view: &JobView) -> JobStep {
    let Some(wanted) = view.wanted.filter(|wanted| *wanted != Wanted::No) else {
        return JobStep::Rest;
    };
    if let Some(reason) = &view.wrong {
        return JobStep::Hold(reason.clone());
    }
    // What was sent is joined without asking anybody: the models may be gone by now.
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

/// What looking for a lost request gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// What it made.
    Found(T),
    /// The service has nothing that it made.
    NotThere,
    /// What it was about is gone.
    Gone,
    /// The service did not answer.
    Silence,
}

/// What to do next about a lost request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchStep<T> {
    /// It had its effect.
    Take(T),
    /// Nobody will ever know.
    GiveUp,
    /// It does not matter any more.
    Drop,
    /// Look again after a pause.
    LookLater,
}

/// The next step of a search; `last_look` when the time was over before it was asked. Only an answer from
/// after the time counts as "not there".
pub fn next_search_step<T>(answer: Answer<T>, last_look: bool) -> SearchStep<T> {
    match answer {
        Answer::Found(found) => SearchStep::Take(found),
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
    fn a_lost_request_is_taken_looked_for_or_given_up_and_has_no_step_that_sends() {
        for (answer, last_look, expected) in [
            (Answer::Found(7), false, SearchStep::Take(7)),
            (Answer::Found(7), true, SearchStep::Take(7)),
            (Answer::NotThere, false, SearchStep::LookLater),
            (Answer::NotThere, true, SearchStep::GiveUp),
            (Answer::Gone, false, SearchStep::Drop),
            (Answer::Gone, true, SearchStep::Drop),
            (Answer::Silence, false, SearchStep::LookLater),
            (Answer::Silence, true, SearchStep::LookLater),
        ] {
            let step = next_search_step(answer.clone(), last_look);
            assert_eq!(step, expected, "{answer:?}, last look: {last_look}");
            // A new step is looked at here before it compiles: none of them may send.
            match step {
                SearchStep::Take(_)
                | SearchStep::GiveUp
                | SearchStep::Drop
                | SearchStep::LookLater => {}
            }
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

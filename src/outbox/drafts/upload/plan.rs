//! The next step of an upload: a pure function of the journal, the known URLs and the service's answers. The executor
//! does one step and asks again, also after a crash.
//!
//! Invariant: `Complete` is planned only if every object is on the service, and a second time only if the service
//! reports that the first had no effect.

use std::time::Duration;

use crate::outbox::drafts::draft::{AssetOrigin, Stage};
use crate::wire::{AssetId, UploadStatus};

/// The known state of an upload.
#[derive(Debug, Clone)]
pub struct View {
    /// The stage of its present attempt in the journal.
    pub stage: Option<Stage>,
    /// Who started its asset.
    pub origin: AssetOrigin,
    /// Objects that are not on the service yet.
    pub missing: Vec<usize>,
    pub urls: Urls,
    /// The last answer of the service, in this run.
    pub service: ServiceView,
    /// Time since the completion request, if it was sent in this run.
    pub completion_age: Option<Duration>,
    /// How old it must be before it is sent again.
    pub completion_pause: Duration,
}

impl View {
    /// Whether the service has said that the upload is complete.
    fn is_completed(&self) -> bool {
        let ServiceView::Status(status) = &self.service else {
            return false;
        };
        *status != UploadStatus::Incomplete
    }
}

/// The state of the upload URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urls {
    /// None: those of an earlier run could not be read.
    None,
    /// Usable, as far as known.
    Good,
    /// Expired.
    Expired,
}

/// The service's answer about the asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceView {
    /// Not requested yet, or no answer.
    Unknown,
    Status(UploadStatus),
    /// There is no such asset.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Start an attempt.
    Start,
    /// Abandon this attempt, delete its asset, and start another.
    StartOver,
    /// Send these objects.
    Put(Vec<usize>),
    /// Request the completion.
    Complete(AssetId),
    /// Request the asset's state.
    Ask(AssetId),
    /// Request it again after a pause.
    AskLater(AssetId),
    /// The service has accepted it.
    Accept,
    /// The import has succeeded.
    Imported,
    /// The import has failed.
    ImportFailed,
    /// The asset was deleted by another client.
    Lost,
    /// Compare what the service has with what was sent.
    Verify(AssetId),
    Rest,
}

pub fn next_step(view: &View) -> Step {
    let Some(stage) = view.stage else {
        return Step::Start;
    };
    match stage {
        // The reply is lost, so the id of the asset is unknown.
        Stage::StartSent => Step::StartOver,
        Stage::Started { asset } => after_start(asset, view),
        Stage::CompleteSent { asset } => after_completion(asset, view),
        Stage::Accepted { asset } => match &view.service {
            ServiceView::Unknown => Step::Ask(asset),
            ServiceView::Gone => Step::Lost,
            ServiceView::Status(UploadStatus::Complete) => Step::Imported,
            ServiceView::Status(status) if status.is_failure() => Step::ImportFailed,
            ServiceView::Status(_) => Step::AskLater(asset),
        },
        Stage::Imported { asset } => match view.service {
            ServiceView::Gone => Step::Lost,
            _ => Step::Verify(asset),
        },
        Stage::ImportFailed { .. } => match view.service {
            ServiceView::Gone => Step::Lost,
            _ => Step::Rest,
        },
    }
}

fn after_start(asset: AssetId, view: &View) -> Step {
    let is_known = view.service != ServiceView::Unknown;
    match (view.origin, view.urls) {
        _ if view.service == ServiceView::Gone => Step::StartOver,
        // Another machine may have completed it.
        (AssetOrigin::Joined, _) | (AssetOrigin::Shared, Urls::None | Urls::Expired)
            if !is_known =>
        {
            Step::Ask(asset)
        }
        _ if view.is_completed() => Step::Accept,
        _ if view.missing.is_empty() => Step::Complete(asset),
        (_, Urls::Good) => Step::Put(view.missing.clone()),
        (_, Urls::None | Urls::Expired) => Step::StartOver,
    }
}

fn after_completion(asset: AssetId, view: &View) -> Step {
    match &view.service {
        ServiceView::Unknown => Step::Ask(asset),
        ServiceView::Gone => Step::StartOver,
        ServiceView::Status(UploadStatus::Incomplete) => match view.completion_age {
            Some(age) if age < view.completion_pause => Step::AskLater(asset),
            // After a restart no request is in flight that could still take effect.
            _ => Step::Complete(asset),
        },
        ServiceView::Status(_) => Step::Accept,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ASSET: AssetId = AssetId(7);

    fn statuses() -> impl Strategy<Value = UploadStatus> {
        prop::sample::select(vec![
            UploadStatus::Incomplete,
            UploadStatus::Waiting,
            UploadStatus::Unzipping,
            UploadStatus::Analysing,
            UploadStatus::DataPrepping,
            UploadStatus::DataPreppingFailed,
            UploadStatus::ServiceQc,
            UploadStatus::Complete,
            UploadStatus::ImportingFailed,
            UploadStatus::ImportLimitExceeded,
            UploadStatus::Other("new".to_owned()),
        ])
    }

    fn views() -> impl Strategy<Value = View> {
        let asset = ASSET;
        let stages = prop::sample::select(vec![
            None,
            Some(Stage::StartSent),
            Some(Stage::Started { asset }),
            Some(Stage::CompleteSent { asset }),
            Some(Stage::Accepted { asset }),
            Some(Stage::Imported { asset }),
            Some(Stage::ImportFailed { asset }),
        ]);
        let urls = prop::sample::select(vec![Urls::None, Urls::Good, Urls::Expired]);
        let origins = prop::sample::select(vec![
            AssetOrigin::Own,
            AssetOrigin::Shared,
            AssetOrigin::Joined,
        ]);
        let service = prop_oneof![
            Just(ServiceView::Unknown),
            Just(ServiceView::Gone),
            statuses().prop_map(ServiceView::Status),
        ];
        let missing = prop::collection::vec(0..5usize, 0..3);
        let ages = prop::option::of((0..20u64).prop_map(Duration::from_secs));
        let pauses = (8..20u64).prop_map(Duration::from_secs);
        (stages, origins, missing, urls, service, ages, pauses).prop_map(
            |(stage, origin, missing, urls, service, age, pause)| View {
                stage,
                origin,
                missing,
                urls,
                service,
                completion_age: age,
                completion_pause: pause,
            },
        )
    }

    proptest! {
        #[test]
        fn complete_is_never_called_before_everything_is_there(view in views()) {
            if let Step::Complete(_) = next_step(&view)
                && let Some(Stage::Started { .. }) = view.stage
            {
                prop_assert!(view.missing.is_empty());
            }
        }

        #[test]
        fn complete_is_called_again_only_when_the_service_says_incomplete(view in views()) {
            if let (Step::Complete(_), Some(Stage::CompleteSent { .. })) = (next_step(&view), view.stage) {
                prop_assert_eq!(&view.service, &ServiceView::Status(UploadStatus::Incomplete));
                prop_assert!(view.completion_age.is_none_or(|age| age >= view.completion_pause));
            }
        }

        #[test]
        fn nothing_accepted_is_ever_started_over(view in views()) {
            if view.stage.is_some_and(|stage| stage.is_accepted()) {
                prop_assert_ne!(next_step(&view), Step::StartOver);
            }
        }

        #[test]
        fn nothing_is_started_while_an_attempt_stands(view in views()) {
            // A known asset belongs to the attempt, or is marked for deletion.
            prop_assert_eq!(next_step(&view) == Step::Start, view.stage.is_none());
        }

        #[test]
        fn nothing_is_put_without_a_url_that_works(view in views()) {
            if let Step::Put(objects) = next_step(&view) {
                prop_assert_eq!(view.urls, Urls::Good);
                prop_assert!(!objects.is_empty());
            }
        }

        #[test]
        fn nothing_is_put_into_an_upload_of_another_machine_before_its_state_is_known(view in views()) {
            if let Step::Put(_) = next_step(&view)
                && view.origin == AssetOrigin::Joined
            {
                prop_assert_eq!(&view.service, &ServiceView::Status(UploadStatus::Incomplete));
            }
        }

        #[test]
        fn what_others_may_have_completed_is_started_over_only_when_it_is_incomplete_or_gone(view in views()) {
            let is_begun = matches!(view.stage, Some(Stage::Started { .. }));
            if next_step(&view) == Step::StartOver && is_begun && view.origin != AssetOrigin::Own {
                let is_it = matches!(
                    view.service,
                    ServiceView::Gone | ServiceView::Status(UploadStatus::Incomplete)
                );
                prop_assert!(is_it);
            }
        }

        #[test]
        fn the_staged_copy_is_compared_only_after_the_import(view in views()) {
            if let Step::Verify(_) = next_step(&view) {
                let imported = matches!(view.stage, Some(Stage::Imported { .. }));
                prop_assert!(imported);
            }
        }
    }

    fn view(stage: Stage, service: ServiceView) -> View {
        View {
            stage: Some(stage),
            origin: AssetOrigin::Own,
            missing: Vec::new(),
            urls: Urls::None,
            service,
            completion_age: None,
            completion_pause: Duration::from_secs(8),
        }
    }

    #[test]
    fn each_place_a_crash_can_leave_an_upload_in_has_its_way_on() {
        let asset = ASSET;
        let status = |status| ServiceView::Status(status);
        let table = [
            (
                view(Stage::StartSent, ServiceView::Unknown),
                Step::StartOver,
            ),
            (
                View {
                    missing: vec![1],
                    ..view(Stage::Started { asset }, ServiceView::Unknown)
                },
                Step::StartOver,
            ),
            (
                view(Stage::Started { asset }, ServiceView::Unknown),
                Step::Complete(asset),
            ),
            (
                view(Stage::CompleteSent { asset }, ServiceView::Unknown),
                Step::Ask(asset),
            ),
            (
                view(
                    Stage::CompleteSent { asset },
                    status(UploadStatus::Incomplete),
                ),
                Step::Complete(asset),
            ),
            (
                view(
                    Stage::CompleteSent { asset },
                    status(UploadStatus::Analysing),
                ),
                Step::Accept,
            ),
            (
                view(
                    Stage::CompleteSent { asset },
                    status(UploadStatus::ImportingFailed),
                ),
                Step::Accept,
            ),
            (
                view(Stage::CompleteSent { asset }, ServiceView::Gone),
                Step::StartOver,
            ),
            (
                view(Stage::Accepted { asset }, status(UploadStatus::Waiting)),
                Step::AskLater(asset),
            ),
            (
                view(Stage::Accepted { asset }, status(UploadStatus::Complete)),
                Step::Imported,
            ),
            (
                view(
                    Stage::Accepted { asset },
                    status(UploadStatus::ImportLimitExceeded),
                ),
                Step::ImportFailed,
            ),
            (
                view(Stage::Accepted { asset }, ServiceView::Gone),
                Step::Lost,
            ),
            (
                view(Stage::Imported { asset }, ServiceView::Unknown),
                Step::Verify(asset),
            ),
            (
                view(Stage::ImportFailed { asset }, ServiceView::Unknown),
                Step::Rest,
            ),
        ];
        for (view, step) in table {
            assert_eq!(next_step(&view), step, "{view:?}");
        }
    }
}

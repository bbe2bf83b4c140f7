//! Uploads, optimizations, and their jobs.

use assetfs::wire::*;
use rand::seq::IndexedRandom;

use super::Maker;

impl Maker {
    fn job_state(&mut self) -> JobState {
        let unknown = JobState::Other(format!("~{}", self.text()));
        let all = [
            JobState::Queued,
            JobState::Executing,
            JobState::Finished,
            JobState::Failed,
            unknown,
        ];
        all.choose(&mut self.0).unwrap().clone()
    }

    pub(super) fn job_status(&mut self) -> JobStatus {
        JobStatus {
            id: self.maybe(Self::number),
            job_id: self.maybe(Self::text),
            kind: self.text(),
            queue: self.maybe(Self::text),
            attempts: self.number(),
            progress_now: self.number(),
            progress_max: self.number(),
            status: self.job_state(),
            input: self.json(2),
            output: self.maybe(Self::text),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            started_at: self.maybe(Self::time),
            finished_at: self.maybe(Self::time),
            key: self.text(),
            other: self.other(),
        }
    }

    pub fn upload_started(&mut self) -> UploadStarted {
        UploadStarted {
            joined: None,
            id: AssetId(self.number()),
            links: UploadLinks {
                s3_upload_urls: self.downloads(),
                complete_upload: self.maybe(Self::text),
                other: self.other(),
            },
            other: self.other(),
        }
    }

    pub fn optimize(&mut self) -> OptimizeRequest {
        let settings = match self.below(3) {
            0 => OptimizeSettings::Config(self.config()),
            1 => OptimizeSettings::Preset(PresetId(self.number())),
            _ => OptimizeSettings::ServiceDefault,
        };
        OptimizeRequest {
            settings,
            tags: self.texts(),
        }
    }

    pub fn multi_optimize(&mut self) -> MultiOptimize {
        let config = |m: &mut Self| MultiOptimizeConfig {
            preset_id: m.maybe(|m| PresetId(m.number())),
            tags: m.texts(),
            export_name: m.maybe(Self::text),
            config: m.object(3),
        };
        MultiOptimize {
            optimizations: self.list(|m| MultiOptimizeItem {
                model_id: AssetId(m.number()),
                config: config(m),
            }),
        }
    }

    pub fn legacy_reply(&mut self) -> LegacyOptimizeReply {
        LegacyOptimizeReply {
            id: RapidId(self.number()),
            rawmodel: self.maybe(Self::source_model),
            accepted: self.maybe(Self::flag),
            configuration: self.json(2),
            optimization_status: self.optimization_status(),
            name: self.text(),
            updated_at: self.maybe(Self::time),
            created_at: self.maybe(Self::time),
            other: self.other(),
        }
    }
}

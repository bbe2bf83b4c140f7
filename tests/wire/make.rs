//! Makes arbitrary records from a seed, with odd texts, absent fields and unknown ones.

use std::collections::BTreeMap;

use assetfs::wire::*;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

/// A source of arbitrary values.
pub struct Maker(SmallRng);

impl Maker {
    pub fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    pub fn flag(&mut self) -> bool {
        self.0.random()
    }

    pub fn number(&mut self) -> u64 {
        match self.below(3) {
            0 => self.below(10),
            1 => self.below(1 << 40),
            _ => self.0.random(),
        }
    }

    /// A fraction that every reader of JSON gets exactly.
    pub fn fraction(&mut self) -> f64 {
        self.0.random_range(-1_000_000_i64..1_000_000) as f64 / 64.0
    }

    pub fn text(&mut self) -> String {
        let odd = [
            'a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\u{0}', 'é', '漢', '🪑', '\u{202e}', '%',
            '?', '{',
        ];
        (0..self.below(9))
            .map(|_| *odd.choose(&mut self.0).unwrap())
            .collect()
    }

    pub fn url(&mut self) -> SignedUrl {
        SignedUrl::new(format!(
            "https://s.example/{}?sig={}",
            self.text(),
            self.number()
        ))
    }

    pub fn time(&mut self) -> Timestamp {
        let micros = self
            .0
            .random_range(-60_000_000_000_000_000_i64..250_000_000_000_000_000);
        Timestamp::from(jiff::Timestamp::from_microsecond(micros).unwrap())
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    pub fn list<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| make(self)).collect()
    }

    pub fn texts(&mut self) -> Vec<String> {
        self.list(Self::text)
    }

    pub fn json(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => self.flag().into(),
            2 => self.number().into(),
            3 => self.fraction().into(),
            4 => self.text().into(),
            5 => (0..self.below(3)).map(|_| self.json(depth - 1)).collect(),
            _ => self.object(depth - 1).into(),
        }
    }

    pub fn object(&mut self, depth: u64) -> Map<String, Value> {
        (0..self.below(4))
            .map(|_| (format!("x {}", self.text()), self.json(depth)))
            .collect()
    }

    /// Fields that this version does not know.
    fn other(&mut self) -> Map<String, Value> {
        self.object(2)
    }

    pub fn config(&mut self) -> OptimizerConfig {
        OptimizerConfig(self.object(3))
    }

    pub fn downloads(&mut self) -> Downloads {
        self.list(|m| (m.text(), m.url())).into_iter().collect()
    }

    fn tag(&mut self) -> Tag {
        Tag {
            id: TagId(self.number()),
            name: self.text(),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            raw_id: self.maybe(|m| AssetId(m.number())),
            rapid_id: self.maybe(|m| RapidId(m.number())),
            other: self.other(),
        }
    }

    fn upload_status(&mut self) -> UploadStatus {
        use UploadStatus::*;
        let unknown = Other(format!("~{}~", self.text()));
        let all = [
            Incomplete,
            Waiting,
            Unzipping,
            Analysing,
            DataPrepping,
            DataPreppingFailed,
            ServiceQc,
            Complete,
            ImportingFailed,
            ImportLimitExceeded,
            unknown,
        ];
        all.choose(&mut self.0).unwrap().clone()
    }

    fn converted(&mut self) -> Option<ConvertedFile> {
        self.maybe(|m| ConvertedFile {
            name: m.text(),
            url: m.url(),
            human_name: m.text(),
        })
    }

    pub fn asset(&mut self) -> BaseAsset {
        BaseAsset {
            id: AssetId(self.number()),
            uuid: self.maybe(Self::text),
            name: self.text(),
            external: self.maybe(Self::flag),
            processing: self.maybe(Self::flag),
            upload_status: self.upload_status(),
            import_status: self.maybe(Self::text),
            progress: self.maybe(Self::fraction),
            error_message: self.maybe(Self::text),
            size: self.maybe(Self::number),
            created_at: self.maybe(Self::time),
            scale_factor: self.maybe(Self::fraction),
            has_errors: self.maybe(Self::flag),
            format: self.maybe(Self::text),
            tags: self.list(Self::tag),
            metadata: self.maybe(|m| m.object(2).into()),
            rapid_models: self.list(|m| RapidId(m.number())),
            downloads: self.downloads(),
            converted_glb: self.converted(),
            converted_gltf: self.converted(),
            converted_max: self.converted(),
            converted_fbx: self.converted(),
            converted_usdz: self.converted(),
            other: self.other(),
        }
    }

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

    fn job_status(&mut self) -> JobStatus {
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

    fn source_model(&mut self) -> SourceModel {
        SourceModel {
            id: AssetId(self.number()),
            name: self.text(),
            processing: self.maybe(Self::flag),
            other: self.other(),
        }
    }

    fn rapid_meta(&mut self) -> RapidMeta {
        let score = |m: &mut Self| QcScore {
            max_score: m.maybe(Self::fraction),
            avg_score: m.maybe(Self::fraction),
        };
        RapidMeta {
            size: self.maybe(Self::number),
            export_size: self.maybe(Self::number),
            qc: self.list(|m| {
                m.list(|m| (m.text(), score(m)))
                    .into_iter()
                    .collect::<BTreeMap<_, _>>()
            }),
            other: self.other(),
        }
    }

    fn optimization_status(&mut self) -> OptimizationStatus {
        use OptimizationStatus::*;
        let unknown = Other(format!("~{}", self.text()));
        [SentToQueue, Done, Failed, unknown]
            .choose(&mut self.0)
            .unwrap()
            .clone()
    }

    pub fn rapid(&mut self) -> RapidModel {
        RapidModel {
            id: RapidId(self.number()),
            name: self.text(),
            optimization_status: self.optimization_status(),
            job_status: self.maybe(Self::job_status),
            progress: self.number(),
            processing_step: self.maybe(Self::text),
            external: self.maybe(Self::flag),
            rawmodel: self.maybe(Self::source_model),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            engine_core_version: self.maybe(Self::text),
            tags: self.list(Self::tag),
            export_name: self.maybe(Self::text),
            uuid: self.maybe(Self::text),
            accepted: self.maybe(Self::flag),
            meta: self.maybe(Self::rapid_meta),
            origin: self.maybe(Self::text),
            optimization_formats: self.maybe(|m| FormatList(m.texts())),
            thumbnail: self.maybe(|m| Thumbnail {
                first: m.maybe(Self::url),
                turntable: m.downloads(),
                other: m.other(),
            }),
            model: self.maybe(|m| ModelFiles {
                root_url: m.maybe(Self::url),
                file_name: m.maybe(Self::text),
                other: m.other(),
            }),
            rpd_info: self.maybe(Self::url),
            rpd_warnings: self.maybe(Self::url),
            rpd_error: self.maybe(Self::url),
            metrics: self.maybe(Self::url),
            downloads: RapidDownloads {
                formats: self.downloads(),
                all: self.downloads(),
            },
            other: self.other(),
        }
    }

    pub fn exports(&mut self) -> ExportList {
        let image = |m: &mut Self| ExportImage {
            channels: m.number(),
            compressed_byte_size: m.number(),
            height: m.number(),
            width: m.number(),
            mimetype: m.text(),
            slot: m.text(),
            other: m.other(),
        };
        let info = |m: &mut Self| ExportInfo {
            images: m.list(image),
            other: m.other(),
        };
        let file = |m: &mut Self| ExportFile {
            download: m.url(),
            info: m.maybe(info),
        };
        ExportList(self.list(|m| (m.text(), file(m))).into_iter().collect())
    }

    pub fn conversion(&mut self) -> ConversionJob {
        use ConversionStatus::*;
        let status = [Queued, Executing, Finished, Failed, Other("~later".into())]
            .choose(&mut self.0)
            .unwrap()
            .clone();
        ConversionJob {
            progress: self.number(),
            status,
            formats: self.texts(),
            other: self.other(),
        }
    }

    pub fn upload_started(&mut self) -> UploadStarted {
        UploadStarted {
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

    fn preset_meta(&mut self) -> PresetMeta {
        let rule = |m: &mut Self| FilenameRule {
            use_id: m.flag(),
            use_suffix: m.json(1),
            use_preset_name: m.flag(),
        };
        PresetMeta {
            filename: self.maybe(rule),
            other: self.other(),
        }
    }

    pub fn preset(&mut self) -> Preset {
        Preset {
            id: PresetId(self.number()),
            name: self.text(),
            description: self.maybe(Self::text),
            config: self.config(),
            rpdx_version: self.maybe(Self::text),
            user_id: self.maybe(|m| UserId(m.number())),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            meta: self.maybe(Self::preset_meta),
            other: self.other(),
        }
    }

    pub fn factory_preset(&mut self) -> FactoryPreset {
        FactoryPreset {
            id: PresetId(self.number()),
            name: self.text(),
            config: self.config(),
            other: self.other(),
        }
    }

    pub fn embed(&mut self) -> Embed {
        Embed {
            id: EmbedId(self.number()),
            identifier: self.maybe(Self::text),
            name: self.text(),
            user_id: self.maybe(|m| UserId(m.number())),
            model_id: self.maybe(|m| RapidId(m.number())),
            view_count: self.maybe(Self::number),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            rapid_model_id: self.maybe(|m| RapidId(m.number())),
            rapid_model_name: self.maybe(Self::text),
            thumbnail: self.maybe(Self::text),
            url: self.maybe(Self::text),
            other: self.other(),
        }
    }

    pub fn webhook(&mut self) -> Webhook {
        Webhook {
            id: WebhookId(self.number()),
            user_id: self.maybe(|m| UserId(m.number())),
            url: self.text(),
            last_called_at: self.maybe(Self::time),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            secret: self.maybe(Self::text),
            last_status: self.json(1),
            verify_ssl: self.maybe(Self::flag),
            failed_calls: self.number(),
            notified_at: self.maybe(Self::time),
            other: self.other(),
        }
    }

    pub fn event(&mut self) -> Event {
        use EventType::*;
        let unknown = Other(format!("~{}", self.text()));
        let all = [
            OptimizationFinished,
            AnalysisFinished,
            UnzipFinished,
            EmbedCreation,
            EmbedFromRawCreation,
            unknown,
        ];
        let event_type = all.choose(&mut self.0).unwrap().clone();
        let status = [EventStatus::Successful, EventStatus::Failed]
            .choose(&mut self.0)
            .unwrap()
            .clone();
        Event {
            event_type,
            timestamp: self.maybe(Self::time),
            data: EventData {
                status: self.maybe(|_| status),
                message: self.maybe(Self::text),
                rawmodel_id: self.maybe(|m| AssetId(m.number())),
                rapidmodel_id: self.maybe(|m| RapidId(m.number())),
                rapidmodel: self.downloads(),
                other: self.other(),
            },
            other: self.other(),
        }
    }

    pub fn token(&mut self) -> ApiToken {
        ApiToken {
            id: TokenId(self.number()),
            name: self.text(),
            last_used_at: self.maybe(Self::time),
            created_at: self.maybe(Self::time),
            updated_at: self.maybe(Self::time),
            optimization_count: self.maybe(Self::number),
            tokenable_type: self.maybe(Self::text),
            tokenable_id: self.maybe(|m| UserId(m.number())),
            abilities: self.texts(),
            plain_text: self.maybe(Self::text),
            other: self.other(),
        }
    }

    pub fn page<T>(&mut self, make: impl FnMut(&mut Self) -> T) -> Page<T> {
        let button = |m: &mut Self| PageButton {
            url: m.maybe(Self::text),
            label: m.text(),
            active: m.flag(),
        };
        Page {
            data: self.list(make),
            links: PageLinks {
                first: self.text(),
                last: self.text(),
                prev: self.maybe(Self::text),
                next: self.maybe(Self::text),
            },
            meta: PageMeta {
                current_page: self.number(),
                from: self.maybe(Self::number),
                last_page: self.number(),
                links: self.list(button),
                path: self.text(),
                per_page: self.number(),
                to: self.maybe(Self::number),
                total: self.number(),
            },
            unreadable: 0,
        }
    }

    /// A record's JSON with some of its fields, never its id, made into something else.
    pub fn spoil(&mut self, mut record: Value) -> Value {
        let map = record.as_object_mut().unwrap();
        let fields: Vec<String> = map.keys().filter(|key| *key != "id").cloned().collect();
        for field in fields {
            match self.below(4) {
                0 => drop(map.remove(&field)),
                1 => drop(map.insert(field, self.json(2))),
                2 => drop(map.insert(field, json!(null))),
                _ => {}
            }
        }
        record
    }
}

//! Base assets and rapid models, with their files.

use std::collections::BTreeMap;

use assetfs::wire::*;
use rand::seq::IndexedRandom;

use super::Maker;

impl Maker {
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

    pub(super) fn source_model(&mut self) -> SourceModel {
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

    pub(super) fn optimization_status(&mut self) -> OptimizationStatus {
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
}

//! Presets, embeds, webhooks and tokens.

use assetfs::wire::*;
use rand::seq::IndexedRandom;

use super::Maker;

impl Maker {
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
            raw_model_id: self.maybe(|m| AssetId(m.number())),
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
}

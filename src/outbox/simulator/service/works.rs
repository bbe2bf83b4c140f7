//! What the service of a simulation makes of assets: rapid models, embeds; and its presets.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::scripted::{ScriptedReply, ScriptedRequest};
use crate::outbox::simulator::hook::{below, chance};
use crate::outbox::simulator::service::{
    Embed, Holdings, Preset, Rapid, are_notes, no_such, page, reply,
};

impl Holdings {
    pub(super) fn optimize_one(&mut self, id: Option<u64>, body: &Value) -> ScriptedReply {
        let id = id.unwrap_or_default();
        match self.add_rapid(id, body, false) {
            Some(rapid) => reply(200, self.rapid_record(rapid)),
            None => no_such(),
        }
    }

    pub(super) fn optimize_many(&mut self, body: &Value) -> ScriptedReply {
        let items = body["optimizations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_there = |item: &Value| {
            let asset = self
                .assets
                .get(&item["model_id"].as_u64().unwrap_or_default());
            asset.is_some_and(|asset| asset.status == "complete")
        };
        if !items.iter().all(is_there) {
            return reply(422, Value::Null);
        }
        for item in items {
            let config = &item["config"];
            let body = json!({"config": config, "tags": config["tags"]});
            self.add_rapid(item["model_id"].as_u64().unwrap_or_default(), &body, false);
        }
        reply(204, Value::Null)
    }

    pub fn add_rapid(&mut self, asset: u64, body: &Value, foreign: bool) -> Option<u64> {
        if self.assets.get(&asset)?.status != "complete" {
            return None;
        }
        let mut settings = body.clone();
        let tags = settings
            .as_object_mut()?
            .shift_remove("tags")
            .unwrap_or_default();
        if let Some(config) = settings["config"].as_object_mut() {
            config.shift_remove("tags");
        }
        let tags = tags.as_array().cloned().unwrap_or_default();
        let tags = tags.iter().filter_map(|it| it.as_str()).map(str::to_owned);
        let tags: Vec<String> = tags.collect();
        if !foreign && !tags.iter().any(|tag| tag.starts_with("assetfs-")) {
            self.violation("an optimization went out without its tag".to_owned());
        }
        let count = &settings["config"]["limits"]["faces"]["count"];
        if !foreign {
            *self.paid.entry(count.to_string()).or_default() += 1;
        }
        let id = self.fresh();
        let rapid = Rapid {
            asset,
            settings: settings.to_string(),
            tags: tags.into_iter().map(|tag| (self.fresh(), tag)).collect(),
            done_at: Instant::now() + Duration::from_millis(below(60_000)),
            fails: chance(5),
        };
        self.rapids.insert(id, rapid);
        Some(id)
    }

    pub(super) fn rapid_record(&self, id: u64) -> Value {
        let rapid = &self.rapids[&id];
        let done = rapid.done_at <= Instant::now();
        let status = match (done, rapid.fails) {
            (false, _) => "sent_to_queue",
            (true, true) => "failed",
            (true, false) => "done",
        };
        let tags: Vec<Value> = rapid
            .tags
            .iter()
            .map(|(id, name)| json!({"id": id, "name": name}))
            .collect();
        json!({"id": id, "name": "r", "optimization_status": status, "progress": 40, "tags": tags})
    }

    pub(super) fn running(&mut self) -> ScriptedReply {
        let now = Instant::now();
        let listed = self.rapids.iter();
        let listed = listed.filter(|(_, it)| it.done_at > now || it.fails);
        let data: Vec<Value> = listed.map(|(id, _)| self.rapid_record(*id)).collect();
        reply(200, json!({"data": data}))
    }

    pub(super) fn rapids_of(&mut self, asset: Option<u64>) -> ScriptedReply {
        let asset = asset.unwrap_or_default();
        if !self.assets.contains_key(&asset) {
            return no_such();
        }
        let data: Vec<Value> = self
            .rapids
            .iter()
            .filter(|(_, it)| it.asset == asset)
            .map(|(id, _)| self.rapid_record(*id))
            .collect();
        reply(200, json!({"data": data}))
    }

    pub(super) fn show_rapid(&mut self, id: Option<u64>) -> ScriptedReply {
        match id.filter(|id| self.rapids.contains_key(id)) {
            Some(id) => reply(200, json!({"data": self.rapid_record(id)})),
            None => no_such(),
        }
    }

    pub(super) fn note_rapid(&mut self, id: Option<u64>, body: &Value) -> ScriptedReply {
        let Some(id) = id.filter(|id| self.rapids.contains_key(id)) else {
            return no_such();
        };
        if !are_notes(body) {
            self.violation(format!("a result was tagged with {body}"));
        }
        for tag in body["tags"].as_array().into_iter().flatten() {
            let (number, name) = (self.fresh(), tag.as_str().unwrap_or_default());
            if let Some(rapid) = self.rapids.get_mut(&id) {
                rapid.tags.insert(number, name.to_owned());
            }
        }
        reply(200, Value::Null)
    }

    pub(super) fn untag(&mut self, id: Option<u64>, tag: Option<u64>) -> ScriptedReply {
        let rapid = id.and_then(|id| self.rapids.get_mut(&id));
        let removed = rapid.and_then(|rapid| rapid.tags.remove(&tag?));
        match removed {
            Some(name) => {
                if !name.starts_with("assetfs-") {
                    self.violation(format!("the tag {name} was removed"));
                }
                reply(200, Value::Null)
            }
            None => no_such(),
        }
    }

    pub(super) fn embed(&mut self, raw: bool, body: &Value) -> ScriptedReply {
        let of = body[if raw { "raw_model_id" } else { "model_id" }]
            .as_u64()
            .unwrap_or_default();
        let there = match raw {
            true => self.assets.contains_key(&of),
            false => self.rapids.contains_key(&of),
        };
        if !there {
            return no_such();
        }
        let id = self.fresh();
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let embed = Embed {
            of: (raw, of),
            name: text("name"),
            config: text("config"),
            foreign: false,
        };
        self.embeds.insert(id, embed);
        reply(
            201,
            json!({"status": "success", "embed_id": id, "embed_url": "https://e.example"}),
        )
    }

    /// An embed of another machine.
    pub fn foreign_embed(&mut self, asset: u64, name: &str) {
        let id = self.fresh();
        let embed = Embed {
            of: (true, asset),
            name: name.to_owned(),
            config: String::new(),
            foreign: true,
        };
        self.embeds.insert(id, embed);
    }

    pub(super) fn list_embeds(&mut self, request: &ScriptedRequest) -> ScriptedReply {
        let rapid = request.url.query_pairs().find(|(key, _)| key == "rapidId");
        let rapid = rapid.and_then(|(_, value)| value.parse::<u64>().ok());
        let shown = |embed: &Embed| rapid.is_none_or(|rapid| embed.of == (false, rapid));
        let data = self.embeds.iter().filter(|(_, embed)| shown(embed));
        let data = data.map(|(id, embed)| {
            let key = if embed.of.0 {
                "raw_model_id"
            } else {
                "rapidModelId"
            };
            json!({"id": id, "name": embed.name, key: embed.of.1})
        });
        reply(200, page(data.collect()))
    }

    pub(super) fn list_presets(&mut self) -> ScriptedReply {
        let all = self.presets.iter();
        let all =
            all.map(|(id, it)| json!({"id": id, "name": it.name, "config": it.config.to_string()}));
        reply(200, all.collect())
    }

    pub(super) fn create_preset(&mut self, body: &Value) -> ScriptedReply {
        self.add_preset(body, false);
        reply(200, Value::Null)
    }

    /// Makes a preset.
    pub fn add_preset(&mut self, body: &Value, foreign: bool) {
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        let id = self.fresh();
        if !foreign {
            if self
                .presets
                .values()
                .any(|it| it.name == name && !it.foreign)
            {
                self.violation(format!("a second preset {name} was made"));
            }
            self.preset_ids.entry(name.clone()).or_default().insert(id);
        }
        let config = body["config"].clone();
        self.presets.insert(
            id,
            Preset {
                name,
                config,
                foreign,
            },
        );
    }

    pub(super) fn update_preset(&mut self, body: &Value) -> ScriptedReply {
        let id = body["id"].as_u64().unwrap_or_default();
        match self.presets.get_mut(&id) {
            Some(preset) => {
                preset.name = body["name"].as_str().unwrap_or_default().to_owned();
                preset.config = body["config"].clone();
                reply(200, Value::Null)
            }
            None => no_such(),
        }
    }

    pub(super) fn delete_preset(&mut self, id: Option<u64>) -> ScriptedReply {
        match id.and_then(|id| self.presets.remove(&id)) {
            Some(_) => reply(200, Value::Null),
            None => no_such(),
        }
    }
}

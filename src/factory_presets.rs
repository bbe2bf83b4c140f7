//! The factory presets: the most common requests of people who publish 3D models. The local service offers them, and
//! commands know them by name.
//!
//! Each has an id below 1001 that never changes its meaning. Presets of users have higher ids.

use crate::wire::{OptimizerConfig, PresetCategory, PresetId};

#[derive(Debug)]
pub struct FactoryPreset {
    pub id: PresetId,
    pub name: &'static str,
    pub description: &'static str,
    pub category: u64,
    config: &'static str,
}

impl FactoryPreset {
    pub fn config(&self) -> OptimizerConfig {
        OptimizerConfig::parse(self.config).expect("a test reads every factory preset")
    }

    /// The text that a search matches, in lower case.
    pub fn folded(&self) -> String {
        format!("{}\n{}", self.name, self.description).to_lowercase()
    }
}

/// The factory preset with this id.
pub fn factory(id: PresetId) -> Option<&'static FactoryPreset> {
    FACTORY.iter().find(|preset| preset.id == id)
}

pub fn categories() -> Vec<PresetCategory> {
    let category = |id, name: &str, slug: &str, description: &str| PresetCategory {
        id,
        name: name.to_owned(),
        slug: slug.to_owned(),
        description: description.to_owned(),
        other: Default::default(),
    };
    vec![
        category(
            WEB,
            "Web",
            "web",
            "Models that load fast in a viewer on a web page.",
        ),
        category(
            AR,
            "Augmented reality",
            "augmented-reality",
            "Models for phones and headsets, in the formats of both platforms.",
        ),
        category(
            MARKETPLACE,
            "Marketplaces",
            "marketplaces",
            "Models within the budgets that shops and marketplaces set.",
        ),
        category(
            REALTIME,
            "Real time",
            "real-time",
            "Models for games and interactive scenes.",
        ),
        category(
            CLEAN_UP,
            "Clean-up",
            "clean-up",
            "The same model, tidied: no visible change.",
        ),
        category(
            EXCHANGE,
            "Exchange",
            "exchange",
            "Models for other programs and for printing.",
        ),
    ]
}

const WEB: u64 = 1;
const AR: u64 = 2;
const MARKETPLACE: u64 = 3;
const REALTIME: u64 = 4;
const CLEAN_UP: u64 = 5;
const EXCHANGE: u64 = 6;

/// One glb.
macro_rules! glb {
    () => {
        r#"{"fileType":"glb","textureFormat":{"baseColor":"auto","normal":"auto","orm":"auto","emissive":"auto"}}"#
    };
}

/// One glb for web viewers: geometry packed with meshopt, textures as WebP, which three.js, model-viewer and Babylon.js read.
/// Normal maps are JPEG, which keeps all channels of every pixel and needs fewer bytes than WebP for the same error.
macro_rules! web_glb {
    () => {
        r#"{"fileType":"glb","meshCompressionMethod":"meshopt","textureFormat":{"baseColor":"webp","normal":"jpg","orm":"webp","emissive":"webp"},"textureQuality":"medium"}"#
    };
}

/// All factory presets, in the order of the list.
pub static FACTORY: &[FactoryPreset] = &[
    FactoryPreset {
        id: PresetId(1),
        name: "Web Viewer",
        description: "For a product page: at most 100,000 triangles and 2k textures, as one glb, compressed with meshopt, WebP and (normal maps) JPEG.",
        category: WEB,
        config: concat!(
            r#"{"schema":"2.5","limits":{"faces":{"count":100000},"textures":{"baseColor":2048,"normal":2048,"orm":1024,"emissive":1024}},"import":{"discard":{"unusedUVs":true}},"compressionAndExport":{"fileExports":["#,
            web_glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(2),
        name: "Web Viewer Light",
        description: "For pages with many models: at most 25,000 triangles and 1k textures, as one glb, compressed with meshopt, WebP and (normal maps) JPEG.",
        category: WEB,
        config: concat!(
            r#"{"schema":"2.5","limits":{"faces":{"count":25000},"textures":{"baseColor":1024,"normal":1024,"orm":512,"emissive":512}},"import":{"discard":{"unusedUVs":true}},"compressionAndExport":{"fileExports":["#,
            web_glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(3),
        name: "Mobile AR",
        description: "For phones of both platforms: at most 50,000 triangles and 1k textures, as glb and usdz.",
        category: AR,
        config: concat!(
            r#"{"schema":"2.5","limits":{"faces":{"count":50000},"textures":{"baseColor":1024,"normal":1024,"orm":1024,"emissive":1024}},"compressionAndExport":{"fileExports":["#,
            glb!(),
            r#",{"fileType":"usdz","textureFormat":{"baseColor":"auto","normal":"auto","orm":"auto","emissive":"auto"}}]}}"#
        ),
    },
    FactoryPreset {
        id: PresetId(4),
        name: "Marketplace Standard",
        description: "Within the usual budget of marketplaces (10 MB, 50,000 triangles, 2k colour): one glb.",
        category: MARKETPLACE,
        config: concat!(
            r#"{"schema":"2.5","workflowSettings":{"targetMBSize":10},"limits":{"faces":{"count":50000},"textures":{"baseColor":2048,"normal":1024,"orm":1024,"emissive":1024}},"compressionAndExport":{"fileExports":["#,
            glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(5),
        name: "Marketplace Small",
        description: "For marketplaces with a tight budget (4 MB, 20,000 triangles, 1k textures): one glb.",
        category: MARKETPLACE,
        config: concat!(
            r#"{"schema":"2.5","workflowSettings":{"targetMBSize":4},"limits":{"faces":{"count":20000},"textures":{"baseColor":1024,"normal":1024,"orm":1024,"emissive":512}},"compressionAndExport":{"fileExports":["#,
            glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(6),
        name: "Real-Time Prop",
        description: "For a prop in a game or a scene: at most 10,000 triangles and 1k textures, as one glb.",
        category: REALTIME,
        config: concat!(
            r#"{"schema":"2.5","limits":{"faces":{"count":10000},"textures":{"baseColor":1024,"normal":1024,"orm":512,"emissive":512}},"compressionAndExport":{"fileExports":["#,
            glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(7),
        name: "A Quarter of the Faces",
        description: "Keeps the textures as they are and a quarter of the triangles, as one glb.",
        category: REALTIME,
        config: concat!(
            r#"{"schema":"2.5","limits":{"faces":{"percentage":25}},"compressionAndExport":{"fileExports":["#,
            glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(8),
        name: "Lossless Clean-Up",
        description: "Joins equal vertices and materials and removes what is never drawn; looks the same, as one glb.",
        category: CLEAN_UP,
        config: concat!(
            r#"{"schema":"2.5","compressionAndExport":{"fileExports":["#,
            glb!(),
            "]}}"
        ),
    },
    FactoryPreset {
        id: PresetId(9),
        name: "glTF for Editing",
        description: "The cleaned-up model with its textures as files of their own, as gltf.",
        category: EXCHANGE,
        config: r#"{"schema":"2.5","compressionAndExport":{"fileExports":[{"fileType":"gltf","textureFormat":{"baseColor":"auto","normal":"auto","orm":"auto","emissive":"auto"}}]}}"#,
    },
    FactoryPreset {
        id: PresetId(10),
        name: "3D Print",
        description: "The shape alone, at most 500,000 triangles, as stl.",
        category: EXCHANGE,
        config: r#"{"schema":"2.5","limits":{"faces":{"count":500000}},"compressionAndExport":{"fileExports":[{"fileType":"stl"}]}}"#,
    },
    FactoryPreset {
        id: PresetId(11),
        name: "Web Viewer Compatible",
        description: "For programs that read no compressed glb: at most 100,000 triangles and 2k textures, in the formats of the source.",
        category: WEB,
        config: concat!(
            r#"{"schema":"2.5","limits":{"faces":{"count":100000},"textures":{"baseColor":2048,"normal":2048,"orm":1024,"emissive":1024}},"compressionAndExport":{"fileExports":["#,
            glb!(),
            "]}}"
        ),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_factory_preset_is_whole() {
        let categories = categories();
        for (number, preset) in (1..).zip(FACTORY) {
            let config = preset.config();
            assert_eq!(config.0["schema"], "2.5", "{}", preset.name);
            assert!(config.0["compressionAndExport"]["fileExports"][0].is_object());
            assert_eq!(preset.id, PresetId(number));
            assert!(
                categories
                    .iter()
                    .any(|category| category.id == preset.category)
            );
        }
    }
}

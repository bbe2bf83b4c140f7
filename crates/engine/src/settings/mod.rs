//! The optimizer configuration, layouts A and B, as typed settings.
//!
//! Every key is either used, or its path is listed in [`Settings::not_done`] or [`Settings::unknown`], which are
//! written to `warning.log`; no key is ignored silently. A known key with a value of the wrong kind is an error that
//! names it.

mod baking;
mod formats;
mod key_table;
mod keys;
mod read;
mod reader;
mod schema;

use std::str::FromStr;

use super::scene::TextureSlot;
pub use baking::{Baking, BakingQuality};
pub use formats::{Discard, ExportSettings, MeshCompression, TextureFormats, TextureQuality};
pub use key_table::{Form, FormValue, KEYS, Key, Treatment};
pub use keys::{UnknownKey, most_alike};
pub use reader::SettingsError;
pub use schema::UnknownSchema;

/// The requested changes of a model, and the files to write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Maximum number of faces.
    pub face_count: Option<u64>,
    /// Maximum number of faces, in percent of those of the source.
    pub face_percentage: Option<f64>,
    /// Maximum size of the first export in bytes.
    pub target_bytes: Option<u64>,
    /// The longest side of textures in pixels, by slot.
    pub texture_limits: TextureLimits,
    /// What to leave out.
    pub discard: Discard,
    /// Rotates a model from z up to y up.
    pub rotate_z_up: bool,
    /// Moves the middle of the model to the origin.
    pub center_model: bool,
    /// Flips the green channel of normal maps.
    pub flip_normal_maps: bool,
    /// Removes triangles that are invisible from outside.
    pub remove_invisible: bool,
    /// Removes parts smaller than this percentage of the model's size.
    pub small_feature_percentage: Option<f64>,
    /// Never crosses seams, closes holes or drops parts to meet a face limit.
    pub preserve_topology: bool,
    /// Joins vertices nearer than this, in the units of the model.
    pub merge_distance: Option<f64>,
    /// How much triangles of like sizes are preferred: 0 not at all, 1 most.
    pub density_equalization: f64,
    /// The part of the vertices that shape open borders which is kept in place, from 0 to 1.
    pub border_lock: f64,
    /// Repairs keyframes that viewers refuse.
    pub fix_animations: bool,
    /// Replaces materials and texture coordinates when triangles are removed, instead of keeping them.
    pub rebakes: bool,
    /// How textures are baked, if the model is rebaked.
    pub baking: Baking,
    /// How closely the triangles of CAD files follow the surfaces.
    pub tessellation: Tessellation,
    /// Which prims of a USD file are read besides those for every purpose.
    pub usd_purpose: UsdPurpose,
    /// The rules that a usdz is checked against after it is written.
    pub usd_profile: Option<UsdProfile>,
    /// The files to write. At least one.
    pub exports: Vec<ExportSettings>,
    /// Known keys that have no effect, with the reason.
    pub not_done: Vec<String>,
    pub unknown: Vec<UnknownKey>,
    /// Set if the configuration has a version that this engine does not know. Its keys are read as in the known version.
    pub unknown_schema: Option<UnknownSchema>,
}

/// The longest side of textures in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TextureLimits {
    pub base_color: Option<u32>,
    pub emissive: Option<u32>,
    pub normal: Option<u32>,
    /// For occlusion, roughness and metallic.
    pub orm: Option<u32>,
}

impl TextureLimits {
    /// One limit for all slots.
    pub fn all(side: u32) -> TextureLimits {
        TextureLimits {
            base_color: Some(side),
            emissive: Some(side),
            normal: Some(side),
            orm: Some(side),
        }
    }

    /// The limit of a slot.
    pub fn of(&self, slot: TextureSlot) -> Option<u32> {
        match slot {
            TextureSlot::BaseColor => self.base_color,
            TextureSlot::Emissive => self.emissive,
            TextureSlot::Normal => self.normal,
            TextureSlot::Orm => self.orm,
        }
    }
}

/// How closely the triangles of CAD files follow the surfaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tessellation {
    Coarse,
    #[default]
    Medium,
    Fine,
}

impl Tessellation {
    fn from_name(name: &str) -> Option<Tessellation> {
        match name {
            "coarse" => Some(Tessellation::Coarse),
            "medium" => Some(Tessellation::Medium),
            "fine" => Some(Tessellation::Fine),
            _ => None,
        }
    }
}

/// Which prims of a USD file are read besides those for every purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UsdPurpose {
    /// No others.
    Default,
    /// Those for the final picture.
    #[default]
    Render,
    /// Light stand-ins for those of the final picture.
    Proxy,
    /// Help for the people who make the scene.
    Guide,
}

impl UsdPurpose {
    fn from_name(name: &str) -> Option<UsdPurpose> {
        match name {
            "default" => Some(UsdPurpose::Default),
            "render" => Some(UsdPurpose::Render),
            "proxy" => Some(UsdPurpose::Proxy),
            "guide" => Some(UsdPurpose::Guide),
            _ => None,
        }
    }

    /// The word for it in USD files.
    pub fn name(self) -> &'static str {
        match self {
            UsdPurpose::Default => "default",
            UsdPurpose::Render => "render",
            UsdPurpose::Proxy => "proxy",
            UsdPurpose::Guide => "guide",
        }
    }
}

/// Rules for a usdz, beyond those of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsdProfile {
    /// What Apple's viewers show.
    ArKit,
}

/// Reads a configuration from JSON.
impl FromStr for Settings {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Settings, SettingsError> {
        Settings::read(&reader::object(text)?)
    }
}

impl Settings {
    /// The face limit for a model with this number of faces.
    pub fn face_limit(&self, faces: u64) -> Option<u64> {
        let of_percentage = self
            .face_percentage
            .map(|percent| (faces as f64 * percent / 100.0).floor() as u64);
        match (self.face_count, of_percentage) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
        .map(|limit| limit.max(1))
    }
}

#[cfg(test)]
mod tests {
    use assetfs_formats::{FileFormat, TextureFormat};
    use serde_json::{Value, json};

    use super::*;

    fn read(config: Value) -> Result<Settings, SettingsError> {
        Settings::read(config.as_object().unwrap())
    }

    #[test]
    fn layout_a_is_read() {
        let settings = read(json!({
            "schema": "2.5",
            "limits": {
                "faces": { "count": 50_000, "percentage": 10.5 },
                "textures": { "baseColor": 1024, "normal": 512.0 }
            },
            "sceneManipulation": { "rotateZUp": true, "discardAnimations": true },
            "compressionAndExport": { "fileExports": [
                { "fileType": "glb", "textureFormat": { "baseColor": "jpg" }, "textureQuality": "Medium" },
                { "fileType": "USDZ", "customScaling": 100 }
            ] }
        }))
        .unwrap();
        assert_eq!(settings.face_limit(100_000), Some(10_500));
        assert_eq!(settings.face_limit(1_000_000), Some(50_000));
        assert_eq!(settings.texture_limits.base_color, Some(1024));
        assert_eq!(settings.texture_limits.normal, Some(512));
        assert!(settings.rotate_z_up && settings.discard.animations);
        assert_eq!(settings.exports.len(), 2);
        assert_eq!(settings.exports[0].textures.base_color, TextureFormat::Jpg);
        assert_eq!(settings.exports[0].textures.quality, TextureQuality::Medium);
        assert_eq!(settings.exports[1].scale, 100.0);
        assert!(settings.not_done.is_empty(), "{:?}", settings.not_done);
    }

    #[test]
    fn layout_b_is_read() {
        let settings = read(json!({
            "import": { "general": { "rotateZUp": true },
                        "discard": { "cameras": true, "unusedUVs": true } },
            "export": [{ "fileName": "chair", "textureMapFilePrefix": "t_",
                         "discard": ["lights"], "format": { "gltf": {} } }]
        }))
        .unwrap();
        assert!(settings.rotate_z_up && settings.discard.cameras && settings.discard.unused_uvs);
        assert!(settings.exports[0].discard.lights && !settings.discard.lights);
        assert_eq!(settings.exports[0].format, FileFormat::Gltf);
        assert_eq!(settings.exports[0].file_name.as_deref(), Some("chair"));
        assert!(settings.not_done.is_empty(), "{:?}", settings.not_done);
    }

    #[test]
    fn what_is_not_done_is_named_by_its_path() {
        let settings = read(json!({
            "sceneManipulation": { "sparkle": true, "centerModel": false },
            "export": [{ "format": { "gltf": { "pbrMaterial": true } } }],
            "limits": { "faces": { "cuont": 5 } },
            "colour": [1, 2]
        }))
        .unwrap();
        assert_eq!(
            settings.not_done,
            ["export[0].format.gltf.pbrMaterial: materials are written whole",]
        );
        let unknown: Vec<String> = settings.unknown.iter().map(UnknownKey::to_string).collect();
        assert_eq!(
            unknown,
            [
                "colour is not a key of the configuration",
                "limits.faces.cuont is not a key of the configuration; did you mean limits.faces.count?",
                "sceneManipulation.sparkle is not a key of the configuration",
            ]
        );
    }

    #[test]
    fn an_unknown_key_is_named_also_if_its_value_is_empty_and_a_known_one_may_be_empty() {
        let empty = [json!(null), json!(false), json!([]), json!({})];
        for value in empty.clone() {
            let settings = read(json!({
                "limts": value,
                "limits": { "faces": { "cuont": value } },
                "export": [{ "filename": value }],
            }))
            .unwrap();
            let unknown: Vec<&str> = settings.unknown.iter().map(|key| &*key.path).collect();
            let expected = ["export[0].filename", "limits.faces.cuont", "limts"];
            assert_eq!(unknown, expected, "{value}");
        }
        for config in [
            json!({ "limits": {}, "import": null, "export": [], "sceneManipulation": { "removeSmallFeatures": {} } }),
            json!({ "export": [{ "discard": [], "format": { "glb": {}, "usdz": { "pbrMaterial": [] } } }] }),
            json!({ "compressionAndExport": { "fileExports": [{ "fileType": "glb", "textureFormat": {} }] } }),
        ] {
            let settings = read(config.clone()).unwrap();
            assert!(
                settings.unknown.is_empty(),
                "{config}: {:?}",
                settings.unknown
            );
            assert!(
                settings.not_done.is_empty(),
                "{config}: {:?}",
                settings.not_done
            );
        }
    }

    #[test]
    fn schema_is_a_version() {
        for schema in [json!("2.5"), json!(2.5), json!(null)] {
            let settings = read(json!({ "schema": schema })).unwrap();
            assert!(settings.not_done.is_empty(), "{schema}");
            assert!(settings.unknown_schema.is_none(), "{schema}");
        }
        for schema in [
            json!("2.4"),
            json!(3),
            json!("3.0.1"),
            json!("99"),
            json!("2.50"),
            json!("02.5"),
        ] {
            let settings = read(json!({ "schema": schema })).unwrap();
            let said = settings.unknown_schema.unwrap().to_string();
            assert!(said.contains(&schema.to_string()), "{said}");
            assert!(said.contains("2.5"), "{said}");
        }
        for schema in [
            json!(-1),
            json!(1e308),
            json!(0.123456),
            json!(u64::MAX),
            json!([]),
            json!({}),
            json!(false),
            json!(true),
            json!(""),
            json!("2."),
            json!("two"),
            json!([2.5]),
        ] {
            let refused = read(json!({ "schema": schema })).unwrap_err().to_string();
            assert!(refused.starts_with("schema is "), "{refused}");
            assert!(refused.contains("must be a version"), "{refused}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_an_error_that_names_the_key() {
        for (config, sentence) in [
            (
                json!({ "limits": { "faces": { "count": "many" } } }),
                "limits.faces.count is \"many\"; it must be a whole number of at least 1",
            ),
            (
                json!({ "limits": { "faces": { "count": 5_000_000_000_000_000_u64 } } }),
                "limits.faces.count is 5000000000000000; it must be a whole number of at least 1 and below 1e15",
            ),
            (
                json!({ "limits": { "faces": { "percentage": 120 } } }),
                "limits.faces.percentage is 120; it must be a number from 0 to 100",
            ),
            (
                json!({ "limits": [] }),
                "limits is []; it must be an object",
            ),
            (
                json!({ "sceneManipulation": { "rotateZUp": "yes" } }),
                "sceneManipulation.rotateZUp is \"yes\"; it must be true or false",
            ),
            (
                json!({ "compressionAndExport": { "fileExports": [{ "fileType": "dwg" }] } }),
                "compressionAndExport.fileExports[0].fileType is \"dwg\"; formats are fbx, glb, gltf, obj, ply, stl and usdz",
            ),
            (
                json!({ "assetSimplification": { "meshDecimation": { "method": "remesh" } } }),
                "assetSimplification.meshDecimation.method is \"remesh\"; the only method is rebake",
            ),
            (
                json!({ "assetSimplification": { "materialAndTextureBaking": { "bakingQuality": "ultra" } } }),
                "assetSimplification.materialAndTextureBaking.bakingQuality is \"ultra\"; it must be low, medium or high",
            ),
            (
                json!({ "compressionAndExport": { "fileExports": [{ "fileType": "glb", "textureQuality": "low" }] } }),
                "compressionAndExport.fileExports[0].textureQuality is \"low\"; it must be medium or high",
            ),
            (
                json!({ "import": { "CAD": { "tessellationResolution": "ultra" } } }),
                "import.CAD.tessellationResolution is \"ultra\"; it must be coarse, medium or fine",
            ),
            (
                json!({ "export": [{ "discard": ["windows"] }] }),
                "export[0].discard[0] is \"windows\"; names are cameras, lights, animations, morphTargets and unusedUVs",
            ),
        ] {
            assert_eq!(read(config).unwrap_err().to_string(), sentence);
        }
    }

    #[test]
    fn baking_is_read() {
        let settings = read(json!({ "assetSimplification": {
            "meshDecimation": { "method": "Rebake" },
            "uvAndAtlasSettings": { "uvStretchTolerance": 0.5 },
            "materialAndTextureBaking": { "bakingQuality": "high", "bakeNormalMap": true, "bakeAOMap": false },
        } }))
        .unwrap();
        assert!(settings.rebakes && settings.not_done.is_empty());
        let expected = Baking {
            quality: Some(BakingQuality::High),
            normal_map: true,
            occlusion_map: false,
            stretch: Some(0.5),
        };
        assert_eq!(settings.baking, expected);
    }

    #[test]
    fn an_empty_configuration_is_a_lossless_glb() {
        let settings = read(json!({})).unwrap();
        assert_eq!(settings.exports, [ExportSettings::new(FileFormat::Glb)]);
        assert_eq!(settings.face_limit(7), None);
    }
}

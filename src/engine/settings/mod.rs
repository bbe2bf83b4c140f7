//! The optimizer configuration, layouts A and B, as typed settings.
//!
//! Every key is either understood, or its path stands in [`Settings::not_done`], which ends in
//! `warning.log`; nothing is ignored in silence. A key that we know with a value of the wrong kind is
//! an error that names it.

mod reader;

use serde_json::{Map, Value};

use super::scene::TextureSlot;
use reader::Reader;

pub use reader::SettingsError;

/// What to do with a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// At most so many faces.
    pub face_count: Option<u64>,
    /// At most so many faces, in percent of those of the source.
    pub face_percentage: Option<f64>,
    /// At most so many bytes for the first export.
    pub target_bytes: Option<u64>,
    /// The longest side of textures in pixels, by slot.
    pub texture_limits: TextureLimits,
    /// What to leave out.
    pub discard: Discard,
    /// Turns a model whose up axis is z.
    pub rotate_z_up: bool,
    /// Moves the middle of the model to the origin.
    pub center_model: bool,
    /// Flips the green channel of normal maps.
    pub flip_normal_maps: bool,
    /// Removes parts smaller than this percentage of the model's size.
    pub small_feature_percentage: Option<f64>,
    /// Never crosses seams, closes holes or drops parts to meet a face limit.
    pub preserve_topology: bool,
    /// Joins vertices nearer than this, in the units of the model.
    pub merge_distance: Option<f64>,
    /// The files to write. At least one.
    pub exports: Vec<ExportSettings>,
    /// Keys that have no effect here, with the reason where there is one.
    pub not_done: Vec<String>,
}

/// The longest side of textures in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TextureLimits {
    /// For colour.
    pub base_color: Option<u32>,
    /// For emitted colour.
    pub emissive: Option<u32>,
    /// For normals.
    pub normal: Option<u32>,
    /// For occlusion, roughness and metallic.
    pub orm: Option<u32>,
}

impl TextureLimits {
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

/// What to leave out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discard {
    /// Cameras.
    pub cameras: bool,
    /// Lights.
    pub lights: bool,
    /// Animations.
    pub animations: bool,
    /// Morph targets.
    pub morph_targets: bool,
    /// Texture coordinates that no material uses.
    pub unused_uvs: bool,
}

/// A file format that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileFormat {
    /// One binary file.
    Glb,
    /// JSON with a binary file and images.
    Gltf,
    /// Wavefront, with materials and images.
    Obj,
    /// Triangles only.
    Stl,
    /// Triangles with colours.
    Ply,
    /// Universal Scene Description, as Apple's devices show it.
    Usdz,
}

impl FileFormat {
    /// Every format.
    pub const ALL: [FileFormat; 6] = [
        FileFormat::Glb,
        FileFormat::Gltf,
        FileFormat::Obj,
        FileFormat::Stl,
        FileFormat::Ply,
        FileFormat::Usdz,
    ];

    /// The name in configurations, which is the extension as well.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Glb => "glb",
            FileFormat::Gltf => "gltf",
            FileFormat::Obj => "obj",
            FileFormat::Stl => "stl",
            FileFormat::Ply => "ply",
            FileFormat::Usdz => "usdz",
        }
    }

    /// The format called `name`, in any case.
    pub fn from_name(name: &str) -> Option<FileFormat> {
        let name = name.trim_start_matches('.').to_lowercase();
        FileFormat::ALL
            .into_iter()
            .find(|format| format.name() == name)
    }
}

/// How the geometry of a glTF file is packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MeshCompression {
    /// Plain numbers.
    #[default]
    None,
    /// `KHR_draco_mesh_compression`.
    Draco,
    /// `EXT_meshopt_compression`.
    Meshopt,
}

/// The encoding of textures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TextureFormat {
    /// Whatever is smallest without a loss that one sees.
    #[default]
    Auto,
    /// PNG.
    Png,
    /// JPEG, where alpha is not used.
    Jpg,
}

/// The encoding of textures by slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TextureFormats {
    /// For colour.
    pub base_color: TextureFormat,
    /// For emitted colour.
    pub emissive: TextureFormat,
    /// For normals.
    pub normal: TextureFormat,
    /// For occlusion, roughness and metallic.
    pub orm: TextureFormat,
}

impl TextureFormats {
    /// The format of a slot.
    pub fn of(&self, slot: TextureSlot) -> TextureFormat {
        match slot {
            TextureSlot::BaseColor => self.base_color,
            TextureSlot::Emissive => self.emissive,
            TextureSlot::Normal => self.normal,
            TextureSlot::Orm => self.orm,
        }
    }
}

/// One file to write.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportSettings {
    /// The format.
    pub format: FileFormat,
    /// The name without extension, where one is given.
    pub file_name: Option<String>,
    /// Put in front of the names of texture files.
    pub texture_prefix: String,
    /// How geometry is packed.
    pub compression: MeshCompression,
    /// The model is made so many times as big.
    pub scale: f64,
    /// How textures are encoded.
    pub textures: TextureFormats,
}

impl ExportSettings {
    /// A plain export.
    pub fn new(format: FileFormat) -> ExportSettings {
        ExportSettings {
            format,
            file_name: None,
            texture_prefix: String::new(),
            compression: MeshCompression::None,
            scale: 1.0,
            textures: TextureFormats::default(),
        }
    }
}

impl Settings {
    /// Reads a configuration of either layout.
    ///
    /// # Errors
    /// When a known key has a value of the wrong kind or out of range.
    pub fn read(config: &Map<String, Value>) -> Result<Settings, SettingsError> {
        let mut reader = Reader::new(config);
        let mut settings = Settings::default();
        settings.read_plain(&mut reader)?;
        settings.read_limits(&mut reader)?;
        settings.read_manipulation(&mut reader)?;
        settings.read_simplification(&mut reader)?;
        settings.read_import(&mut reader)?;
        settings.read_exports_a(&mut reader)?;
        settings.read_exports_b(&mut reader)?;
        if settings.exports.is_empty() {
            settings.exports.push(ExportSettings::new(FileFormat::Glb));
        }
        settings.not_done.extend(reader.unread());
        Ok(settings)
    }

    /// The face limit for a model of so many faces.
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

    fn read_plain(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        if let Some(schema) = reader.take("schema")
            && !matches!(schema.as_str(), Some("2.5"))
            && schema.as_f64() != Some(2.5)
        {
            self.not_done.push(format!(
                "schema is {schema}; the keys are read as those of 2.5"
            ));
        }
        // These belong to the request, not to the engine, and are done by who starts the job.
        for key in ["preset_id", "tags", "exportName"] {
            reader.take(key);
        }
        Ok(())
    }

    fn read_limits(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        let count = reader.count("limits.faces.count", 1)?;
        let older = reader.count("workflowSettings.targetMeshResolution.faceCount", 1)?;
        self.face_count = count.or(older);
        self.target_bytes = reader
            .number("workflowSettings.targetMBSize", f64::MIN_POSITIVE, 1e6)?
            .map(|megabytes| (megabytes * 1_000_000.0) as u64);
        self.face_percentage = reader.number("limits.faces.percentage", 0.0, 100.0)?;
        for (slot, name) in [
            (TextureSlot::BaseColor, "baseColor"),
            (TextureSlot::Emissive, "emissive"),
            (TextureSlot::Normal, "normal"),
            (TextureSlot::Orm, "orm"),
        ] {
            let limit = reader.count(&format!("limits.textures.{name}"), 1)?;
            let older = reader.count(
                &format!("workflowSettings.targetTextureResolution.{name}"),
                1,
            )?;
            let limit = limit.or(older).map(|pixels| pixels.min(1 << 20) as u32);
            match slot {
                TextureSlot::BaseColor => self.texture_limits.base_color = limit,
                TextureSlot::Emissive => self.texture_limits.emissive = limit,
                TextureSlot::Normal => self.texture_limits.normal = limit,
                TextureSlot::Orm => self.texture_limits.orm = limit,
            }
        }
        Ok(())
    }

    fn read_manipulation(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        self.rotate_z_up = reader.flag("sceneManipulation.rotateZUp")?;
        self.center_model = reader.flag("sceneManipulation.centerModel")?;
        self.discard.animations = reader.flag("sceneManipulation.discardAnimations")?;
        self.small_feature_percentage = reader
            .number(
                "sceneManipulation.removeSmallFeatures.removalPercentage",
                0.0,
                100.0,
            )?
            .filter(|percent| *percent > 0.0);
        Ok(())
    }

    fn read_simplification(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        let topology = "assetSimplification.topologySettings";
        self.preserve_topology = reader.flag(&format!("{topology}.preserveTopology"))?;
        self.merge_distance = reader
            .number(&format!("{topology}.vertexMergingDistance"), 0.0, f64::MAX)?
            .filter(|distance| *distance > 0.0);
        Ok(())
    }

    fn read_import(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        self.rotate_z_up |= reader.flag("import.general.rotateZUp")?;
        self.flip_normal_maps = reader.flag("import.general.normalmapYFlip")?;
        self.discard.cameras = reader.flag("import.discard.cameras")?;
        self.discard.lights = reader.flag("import.discard.lights")?;
        self.discard.animations |= reader.flag("import.discard.animations")?;
        self.discard.morph_targets = reader.flag("import.discard.morphTargets")?;
        self.discard.unused_uvs = reader.flag("import.discard.unusedUVs")?;
        Ok(())
    }

    fn read_exports_a(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        const LIST: &str = "compressionAndExport.fileExports";
        for index in 0..reader.list_len(LIST)? {
            let at = format!("{LIST}[{index}]");
            let Some(name) = reader.text(&format!("{at}.fileType"))? else {
                return Err(reader.wrong(&format!("{at}.fileType"), "is missing"));
            };
            let Some(format) = FileFormat::from_name(&name) else {
                return Err(reader.wrong(
                    &format!("{at}.fileType"),
                    &format!("is \"{name}\"; formats are glb, gltf, obj, stl, ply and usdz"),
                ));
            };
            let mut export = ExportSettings::new(format);
            export.file_name = reader.text(&format!("{at}.fileName"))?;
            export.compression = self.read_compression(reader, &at, format)?;
            export.scale = reader
                .number(&format!("{at}.customScaling"), f64::MIN_POSITIVE, 1e9)?
                .unwrap_or(1.0);
            export.textures = read_formats(reader, &format!("{at}.textureFormat"))?;
            self.exports.push(export);
        }
        Ok(())
    }

    fn read_compression(
        &mut self,
        reader: &mut Reader<'_>,
        at: &str,
        format: FileFormat,
    ) -> Result<MeshCompression, SettingsError> {
        let path = format!("{at}.meshCompressionMethod");
        let name = reader.text(&path)?.unwrap_or_default().to_lowercase();
        let compression = match name.as_str() {
            "" | "none" => MeshCompression::None,
            "draco" => MeshCompression::Draco,
            "meshopt" | "meshoptimizer" => MeshCompression::Meshopt,
            other => {
                let what = format!("is \"{other}\"; methods are none, draco and meshopt");
                return Err(reader.wrong(&path, &what));
            }
        };
        let is_gltf = matches!(format, FileFormat::Glb | FileFormat::Gltf);
        if compression != MeshCompression::None && !is_gltf {
            self.not_done
                .push(format!("{path} is for glb and gltf only"));
            return Ok(MeshCompression::None);
        }
        Ok(compression)
    }

    /// Layout B: a list of exports, each with its formats as keys of an object.
    fn read_exports_b(&mut self, reader: &mut Reader<'_>) -> Result<(), SettingsError> {
        for index in 0..reader.list_len("export")? {
            let at = format!("export[{index}]");
            let file_name = reader.text(&format!("{at}.fileName"))?;
            let prefix = reader.text(&format!("{at}.textureMapFilePrefix"))?;
            self.read_discard_list(reader, &format!("{at}.discard"))?;
            let mut formats = Vec::new();
            for name in reader.keys(&format!("{at}.format"))? {
                let path = format!("{at}.format.{name}");
                let Some(format) = FileFormat::from_name(&name) else {
                    return Err(reader.wrong(
                        &path,
                        "is no format; formats are glb, gltf, obj, stl, ply and usdz",
                    ));
                };
                reader.touch(&path);
                formats.push(format);
            }
            if formats.is_empty() {
                formats.push(FileFormat::Glb);
            }
            for format in formats {
                let mut export = ExportSettings::new(format);
                export.file_name = file_name.clone();
                export.texture_prefix = prefix.clone().unwrap_or_default();
                self.exports.push(export);
            }
        }
        Ok(())
    }

    fn read_discard_list(
        &mut self,
        reader: &mut Reader<'_>,
        path: &str,
    ) -> Result<(), SettingsError> {
        for index in 0..reader.list_len(path)? {
            let at = format!("{path}[{index}]");
            let name = reader.text(&at)?.unwrap_or_default();
            match name.to_lowercase().as_str() {
                "cameras" => self.discard.cameras = true,
                "lights" => self.discard.lights = true,
                "animations" => self.discard.animations = true,
                "morphtargets" => self.discard.morph_targets = true,
                "unuseduvs" => self.discard.unused_uvs = true,
                _ => self.not_done.push(format!("{at} \"{name}\"")),
            }
        }
        Ok(())
    }
}

fn read_formats(reader: &mut Reader<'_>, at: &str) -> Result<TextureFormats, SettingsError> {
    let mut read = |name: &str| -> Result<TextureFormat, SettingsError> {
        let path = format!("{at}.{name}");
        let text = reader.text(&path)?.unwrap_or_default().to_lowercase();
        match text.as_str() {
            "" | "auto" => Ok(TextureFormat::Auto),
            "png" => Ok(TextureFormat::Png),
            "jpg" | "jpeg" => Ok(TextureFormat::Jpg),
            other => {
                let what = format!("is \"{other}\"; formats are auto, png and jpg");
                Err(reader.wrong(&path, &what))
            }
        }
    };
    Ok(TextureFormats {
        base_color: read("baseColor")?,
        emissive: read("emissive")?,
        normal: read("normal")?,
        orm: read("orm")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
                { "fileType": "glb", "textureFormat": { "baseColor": "jpg" } },
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
        assert!(settings.discard.lights);
        assert_eq!(settings.exports[0].format, FileFormat::Gltf);
        assert_eq!(settings.exports[0].file_name.as_deref(), Some("chair"));
        assert!(settings.not_done.is_empty(), "{:?}", settings.not_done);
    }

    #[test]
    fn what_is_not_done_is_named_by_its_path() {
        let settings = read(json!({
            "sceneManipulation": { "sparkle": true, "centerModel": false },
            "assetSimplification": { "meshDecimation": { "method": "rebake" } },
            "colour": [1, 2]
        }))
        .unwrap();
        assert_eq!(
            settings.not_done,
            [
                "assetSimplification.meshDecimation.method",
                "colour",
                "sceneManipulation.sparkle"
            ]
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_an_error_that_names_the_key() {
        for (config, sentence) in [
            (
                json!({ "limits": { "faces": { "count": "many" } } }),
                "limits.faces.count is \"many\"; it has to be a whole number of at least 1",
            ),
            (
                json!({ "limits": { "faces": { "percentage": 120 } } }),
                "limits.faces.percentage is 120; it has to be a number from 0 to 100",
            ),
            (
                json!({ "limits": [] }),
                "limits is []; it has to be an object",
            ),
            (
                json!({ "sceneManipulation": { "rotateZUp": "yes" } }),
                "sceneManipulation.rotateZUp is \"yes\"; it has to be true or false",
            ),
            (
                json!({ "compressionAndExport": { "fileExports": [{ "fileType": "dwg" }] } }),
                "compressionAndExport.fileExports[0].fileType is \"dwg\"; formats are glb, gltf, obj, stl, ply and usdz",
            ),
        ] {
            assert_eq!(read(config).unwrap_err().to_string(), sentence);
        }
    }

    #[test]
    fn an_empty_configuration_is_a_lossless_glb() {
        let settings = read(json!({})).unwrap();
        assert_eq!(settings.exports, [ExportSettings::new(FileFormat::Glb)]);
        assert_eq!(settings.face_limit(7), None);
    }
}

//! From the keys of a configuration to [`Settings`]: one function for each part of the two layouts.

use serde_json::{Map, Value};

use super::super::scene::TextureSlot;
use super::keys::{self, Unread};
use super::reader::{ConfigReader, SettingsError, requests_nothing};
use super::schema::{SCHEMA, UnknownSchema};
use super::{
    BakingQuality, Discard, ExportSettings, MeshCompression, Settings, Tessellation,
    TextureFormats, TextureQuality, UsdProfile, UsdPurpose,
};
use assetfs_formats::{self as formats, FileFormat, TextureFormat};

/// Maximum number of digits of each part of a version.
const MAX_DIGITS: usize = 4;

/// Whether a text is a version, such as `2.5`.
fn is_version(text: &str) -> bool {
    let is_number = |part: &str| {
        (1..=MAX_DIGITS).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit())
    };
    text.split('.').all(is_number)
}

impl Settings {
    /// Reads a configuration of either layout.
    ///
    /// # Errors
    /// When a known key has a value of the wrong kind or out of range.
    pub fn read(config: &Map<String, Value>) -> Result<Settings, SettingsError> {
        let mut reader = ConfigReader::new(config);
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
        for (path, value) in reader.unread() {
            if requests_nothing(value) && keys::is_known(&path) {
                continue;
            }
            match keys::judge(&path) {
                Unread::NotDone(reason) => settings.not_done.push(format!("{path}: {reason}")),
                Unread::Unknown(key) => settings.unknown.push(key),
            }
        }
        Ok(settings)
    }

    fn read_plain(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        if let Some(schema) = reader.take("schema") {
            let version = match schema {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => String::new(),
            };
            if !is_version(&version) {
                let what =
                    format!("is {schema}; it must be a version as text, such as \"{SCHEMA}\"");
                return Err(reader.wrong("schema", &what));
            }
            if version != SCHEMA {
                let version = schema.to_string();
                self.unknown_schema = Some(UnknownSchema { version });
            }
        }
        // These belong to the request and are read by the caller that starts the job.
        for key in ["preset_id", "tags", "exportName"] {
            reader.take(key);
        }
        Ok(())
    }

    fn read_limits(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
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

    fn read_manipulation(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        self.rotate_z_up = reader.flag("sceneManipulation.rotateZUp")?;
        self.center_model = reader.flag("sceneManipulation.centerModel")?;
        self.discard.animations = reader.flag("sceneManipulation.discardAnimations")?;
        self.remove_invisible = reader.flag("sceneManipulation.removeInvisibleGeometry")?;
        self.small_feature_percentage = reader
            .number(
                "sceneManipulation.removeSmallFeatures.removalPercentage",
                0.0,
                100.0,
            )?
            .filter(|percent| *percent > 0.0);
        Ok(())
    }

    fn read_simplification(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        let topology = "assetSimplification.topologySettings";
        self.preserve_topology = reader.flag(&format!("{topology}.preserveTopology"))?;
        self.merge_distance = reader
            .number(&format!("{topology}.vertexMergingDistance"), 0.0, f64::MAX)?
            .filter(|distance| *distance > 0.0);
        let mut weight = |key: &str| reader.number(&format!("{topology}.{key}"), 0.0, 100.0);
        self.density_equalization = weight("meshDensityEqualization")?.unwrap_or(0.0);
        self.border_lock = weight("boundaryPreservationFactor")?.unwrap_or(0.0);
        self.read_baking(reader)
    }

    fn read_baking(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        const METHOD: &str = "assetSimplification.meshDecimation.method";
        const BAKING: &str = "assetSimplification.materialAndTextureBaking";
        match reader.text(METHOD)?.as_deref() {
            None | Some("") => {}
            Some(name) if name.eq_ignore_ascii_case("rebake") => self.rebakes = true,
            Some(other) => {
                let what = format!("is \"{other}\"; the only method is rebake");
                return Err(reader.wrong(METHOD, &what));
            }
        }
        let path = format!("{BAKING}.bakingQuality");
        if let Some(name) = reader.name(&path)? {
            let quality = BakingQuality::from_name(&name).ok_or_else(|| {
                let what = format!("is \"{name}\"; it must be low, medium or high");
                reader.wrong(&path, &what)
            })?;
            self.baking.quality = Some(quality);
        }
        self.baking.normal_map = reader.flag(&format!("{BAKING}.bakeNormalMap"))?;
        self.baking.occlusion_map = reader.flag(&format!("{BAKING}.bakeAOMap"))?;
        let path = "assetSimplification.uvAndAtlasSettings.uvStretchTolerance";
        self.baking.stretch = reader.number(path, 0.0, f64::MAX)?;
        Ok(())
    }

    fn read_import(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        self.rotate_z_up |= reader.flag("import.general.rotateZUp")?;
        self.flip_normal_maps = reader.flag("import.general.normalmapYFlip")?;
        self.fix_animations = reader.flag("import.general.fixAnimationData")?;
        self.tessellation = read_tessellation(reader)?;
        self.usd_purpose = read_purpose(reader)?;
        self.usd_profile = read_profile(reader)?;
        self.discard.cameras = reader.flag("import.discard.cameras")?;
        self.discard.lights = reader.flag("import.discard.lights")?;
        self.discard.animations |= reader.flag("import.discard.animations")?;
        self.discard.morph_targets = reader.flag("import.discard.morphTargets")?;
        self.discard.unused_uvs = reader.flag("import.discard.unusedUVs")?;
        Ok(())
    }

    fn read_exports_a(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        const LIST: &str = "compressionAndExport.fileExports";
        for index in 0..reader.list_len(LIST)? {
            let at = format!("{LIST}[{index}]");
            let Some(name) = reader.text(&format!("{at}.fileType"))? else {
                return Err(reader.wrong(&format!("{at}.fileType"), "is missing"));
            };
            let Some(format) = FileFormat::from_name(&name) else {
                return Err(reader.wrong(
                    &format!("{at}.fileType"),
                    &format!("is \"{name}\"; formats are {}", formats::written_in_words()),
                ));
            };
            let mut export = ExportSettings::new(format);
            export.file_name = reader.name(&format!("{at}.fileName"))?;
            export.compression = self.read_compression(reader, &at, format)?;
            export.scale = reader
                .number(&format!("{at}.customScaling"), f64::MIN_POSITIVE, 1e9)?
                .unwrap_or(1.0);
            export.textures = read_formats(reader, &at)?;
            self.exports.push(export);
        }
        Ok(())
    }

    fn read_compression(
        &mut self,
        reader: &mut ConfigReader<'_>,
        at: &str,
        format: FileFormat,
    ) -> Result<MeshCompression, SettingsError> {
        let path = format!("{at}.meshCompressionMethod");
        let name = reader.text(&path)?.unwrap_or_default().to_lowercase();
        let compression = match name.as_str() {
            "" | "none" => MeshCompression::None,
            "auto" => MeshCompression::LikeSource,
            "draco" => MeshCompression::Draco,
            "meshopt" | "meshoptimizer" => MeshCompression::Meshopt,
            other => {
                let what = format!("is \"{other}\"; methods are none, auto, draco and meshopt");
                return Err(reader.wrong(&path, &what));
            }
        };
        if compression != MeshCompression::None && !format.takes_compression() {
            self.not_done
                .push(format!("{path} is for glb and gltf only"));
            return Ok(MeshCompression::None);
        }
        Ok(compression)
    }

    /// Layout B: a list of exports, each with its formats as keys of an object.
    fn read_exports_b(&mut self, reader: &mut ConfigReader<'_>) -> Result<(), SettingsError> {
        for index in 0..reader.list_len("export")? {
            let at = format!("export[{index}]");
            let file_name = reader.name(&format!("{at}.fileName"))?;
            let prefix = reader.text(&format!("{at}.textureMapFilePrefix"))?;
            let discard = self.read_discard_list(reader, &format!("{at}.discard"))?;
            let mut formats = Vec::new();
            for name in reader.keys(&format!("{at}.format"))? {
                let path = format!("{at}.format.{name}");
                let Some(format) = FileFormat::from_name(&name) else {
                    let known = formats::written_in_words();
                    return Err(
                        reader.wrong(&path, &format!("is not a format; the formats are {known}"))
                    );
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
                export.discard = discard;
                export.texture_prefix = prefix.clone().unwrap_or_default();
                self.exports.push(export);
            }
        }
        Ok(())
    }

    fn read_discard_list(
        &self,
        reader: &mut ConfigReader<'_>,
        path: &str,
    ) -> Result<Discard, SettingsError> {
        let mut discard = Discard::default();
        for index in 0..reader.list_len(path)? {
            let at = format!("{path}[{index}]");
            let name = reader.text(&at)?.unwrap_or_default();
            match name.to_lowercase().as_str() {
                "cameras" => discard.cameras = true,
                "lights" => discard.lights = true,
                "animations" => discard.animations = true,
                "morphtargets" => discard.morph_targets = true,
                "unuseduvs" => discard.unused_uvs = true,
                _ => {
                    let what = format!(
                        "is \"{name}\"; names are cameras, lights, animations, morphTargets and unusedUVs"
                    );
                    return Err(reader.wrong(&at, &what));
                }
            }
        }
        Ok(discard)
    }
}

fn read_tessellation(reader: &mut ConfigReader<'_>) -> Result<Tessellation, SettingsError> {
    const PATH: &str = "import.CAD.tessellationResolution";
    let text = reader.text(PATH)?.unwrap_or_default().to_lowercase();
    if text.is_empty() {
        return Ok(Tessellation::default());
    }
    Tessellation::from_name(&text).ok_or_else(|| {
        let what = format!("is \"{text}\"; it must be coarse, medium or fine");
        reader.wrong(PATH, &what)
    })
}

fn read_purpose(reader: &mut ConfigReader<'_>) -> Result<UsdPurpose, SettingsError> {
    const PATH: &str = "import.USD.purpose";
    let text = reader.text(PATH)?.unwrap_or_default().to_lowercase();
    if text.is_empty() {
        return Ok(UsdPurpose::default());
    }
    UsdPurpose::from_name(&text).ok_or_else(|| {
        let what = format!("is \"{text}\"; it must be default, render, proxy or guide");
        reader.wrong(PATH, &what)
    })
}

fn read_profile(reader: &mut ConfigReader<'_>) -> Result<Option<UsdProfile>, SettingsError> {
    const PATH: &str = "import.USD.profile";
    let text = reader.text(PATH)?.unwrap_or_default().to_lowercase();
    match text.as_str() {
        "" => Ok(None),
        "arkit" => Ok(Some(UsdProfile::ArKit)),
        _ => {
            let what = format!("is \"{text}\"; the only profile is arkit");
            Err(reader.wrong(PATH, &what))
        }
    }
}

fn read_formats(reader: &mut ConfigReader<'_>, at: &str) -> Result<TextureFormats, SettingsError> {
    let path = format!("{at}.textureQuality");
    let text = reader.text(&path)?.unwrap_or_default();
    let quality = TextureQuality::from_name(&text).ok_or_else(|| {
        let what = format!("is \"{text}\"; it must be medium or high");
        reader.wrong(&path, &what)
    })?;
    let mut read = |name: &str| -> Result<TextureFormat, SettingsError> {
        let path = format!("{at}.textureFormat.{name}");
        let text = reader.text(&path)?.unwrap_or_default();
        TextureFormat::from_name(&text).ok_or_else(|| {
            let known = TextureFormat::NAMES.join(", ");
            reader.wrong(&path, &format!("is \"{text}\"; formats are {known}"))
        })
    };
    Ok(TextureFormats {
        base_color: read("baseColor")?,
        emissive: read("emissive")?,
        normal: read("normal")?,
        orm: read("orm")?,
        quality,
    })
}

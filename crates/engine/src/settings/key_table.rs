//! Every key of the two layouts: its effect, and how a form asks for its value. The warnings and the preset editor are
//! made from this table; tests compare it with the documentation and the reader.

use serde::Serialize;

use assetfs_formats::{FileFormat, TextureFormat};

/// A key of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path; `[]` means each element of a list.
    pub path: &'static str,
    pub treatment: Treatment,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Treatment {
    /// The key has the effect that the documentation describes.
    Done(Form),
    /// The key has no effect; `warning.log` contains this reason.
    NotDone(&'static str),
}

/// How a form asks for a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Form {
    /// A short name for users.
    pub label: &'static str,
    /// The effect of the value, in one sentence.
    pub about: &'static str,
    pub value: FormValue,
}

/// The values that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FormValue {
    /// True or false; false is the same as no value.
    Flag,
    /// A whole number of at least `least`.
    Count { least: u64 },
    /// A number from `least` to `most`.
    Number {
        least: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        most: Option<f64>,
    },
    /// Any text.
    Text,
    /// One of these words.
    Choice { options: &'static [&'static str] },
    /// A list of any of these words.
    Names { options: &'static [&'static str] },
}

const PIXELS: &str = "The longer side in pixels; larger images become smaller.";
const OLDER: &str = "The older form of the limit above, which takes precedence.";
const ENCODING: &str = "How the images are written; auto keeps the source's format.";

const COUNT: FormValue = FormValue::Count { least: 1 };
const PERCENT: FormValue = FormValue::Number {
    least: 0.0,
    most: Some(100.0),
};
const WEIGHT: FormValue = FormValue::Number {
    least: 0.0,
    most: Some(100.0),
};
const ENCODINGS: FormValue = FormValue::Choice {
    options: TextureFormat::NAMES,
};
const FORMATS: FormValue = FormValue::Choice {
    options: FileFormat::NAMES,
};
const COMPRESSIONS: FormValue = FormValue::Choice {
    options: &["none", "auto", "draco", "meshopt"],
};
const METHODS: FormValue = FormValue::Choice {
    options: &["rebake"],
};
const QUALITIES: FormValue = FormValue::Choice {
    options: &["low", "medium", "high"],
};
const TEXTURE_QUALITIES: FormValue = FormValue::Choice {
    options: &["medium", "high"],
};
const TESSELLATIONS: FormValue = FormValue::Choice {
    options: &["coarse", "medium", "fine"],
};
const PROFILES: FormValue = FormValue::Choice {
    options: &["arkit"],
};
const PURPOSES: FormValue = FormValue::Choice {
    options: &["default", "render", "proxy", "guide"],
};
const DISCARDS: FormValue = FormValue::Names {
    options: &[
        "cameras",
        "lights",
        "animations",
        "morphTargets",
        "unusedUVs",
    ],
};

use FormValue::{Flag, Number, Text};

/// A row is `path: values, label, what it does;` or `path => why it has no effect;`.
macro_rules! keys {
    ($($path:literal $(: $value:expr, $label:literal, $about:expr)? $(=> $reason:expr)?;)*) => {
        &[$(Key {
            path: $path,
            treatment: $(Treatment::Done(Form { label: $label, about: $about, value: $value }))?
                $(Treatment::NotDone($reason))?,
        },)*]
    };
}

/// Every key of layout A, then every key of layout B.
pub static KEYS: &[Key] = keys! {
    "schema": FormValue::Choice { options: &["2.5"] }, "Schema", "The version of the keys.";
    "limits.faces.count": COUNT, "At most", "Triangles of the result, as a viewer counts them.";
    "limits.faces.percentage": PERCENT, "Percent of the source", "If both limits are set, the smaller one applies.";
    "limits.textures.baseColor": COUNT, "Base colour", PIXELS;
    "limits.textures.emissive": COUNT, "Emissive", PIXELS;
    "limits.textures.normal": COUNT, "Normals", PIXELS;
    "limits.textures.orm": COUNT, "Occlusion, roughness, metal", PIXELS;
    "workflowSettings.targetMBSize": Number { least: 0.0, most: Some(1e6) }, "Megabytes of the first file", "Searches for the most triangles and pixels that fit.";
    "workflowSettings.targetMeshResolution.faceCount": COUNT, "Triangles", OLDER;
    "workflowSettings.targetTextureResolution.baseColor": COUNT, "Base colour", OLDER;
    "workflowSettings.targetTextureResolution.emissive": COUNT, "Emissive", OLDER;
    "workflowSettings.targetTextureResolution.normal": COUNT, "Normals", OLDER;
    "workflowSettings.targetTextureResolution.orm": COUNT, "Occlusion, roughness, metal", OLDER;
    "sceneManipulation.rotateZUp": Flag, "Turn from z up to y up", "For models that lie on their back.";
    "sceneManipulation.centerModel": Flag, "Center the model", "Moves the middle of the model to the origin.";
    "sceneManipulation.removeInvisibleGeometry": Flag, "Remove what cannot be seen", "Triangles that are hidden from everywhere outside and from inside of rooms.";
    "sceneManipulation.discardAnimations": Flag, "Leave out animations", "The model stays in its rest pose.";
    "sceneManipulation.removeSmallFeatures.removalPercentage": PERCENT, "Remove small parts", "Loose pieces smaller than this percentage of the model.";
    "assetSimplification.meshDecimation.method": METHODS, "Method", "rebake makes a new mesh with one texture set for each use of alpha, if that looks better.";
    "assetSimplification.topologySettings.vertexMergingDistance": Number { least: 0.0, most: None }, "Join vertices nearer than", "In the units of the model.";
    "assetSimplification.topologySettings.meshDensityEqualization": WEIGHT, "Even triangles", "0 keeps triangles dense where the shape needs them; 1 makes their sizes most even.";
    "assetSimplification.topologySettings.boundaryPreservationFactor": WEIGHT, "Keep open borders", "The part of the vertices on open borders that stays in place: 0 none, 1 all that shape a border.";
    "assetSimplification.topologySettings.preserveTopology": Flag, "Preserve topology", "Never crosses seams or drops parts to meet a limit, which may then be exceeded.";
    "assetSimplification.uvAndAtlasSettings.uvStretchTolerance": Number { least: 0.0, most: None }, "Stretch of charts", "How much rebaking may stretch textures; less makes more charts.";
    "assetSimplification.materialAndTextureBaking.bakingQuality": QUALITIES, "Quality of baking", "How many samples rebaking takes for each texel.";
    "assetSimplification.materialAndTextureBaking.bakeNormalMap": Flag, "Bake a normal map", "Bakes the shape of the source, even without normal maps there; without rebake, into charts that do not overlap.";
    "assetSimplification.materialAndTextureBaking.bakeAOMap": Flag, "Bake ambient occlusion", "Computes how much parts darken each other; without rebake, into charts that do not overlap.";
    "compressionAndExport.fileExports[].fileType": FORMATS, "Format", "Each file has one.";
    "compressionAndExport.fileExports[].meshCompressionMethod": COMPRESSIONS, "Compression of geometry", "For glb and gltf; auto packs as the source is packed.";
    "compressionAndExport.fileExports[].customScaling": Number { least: 0.0, most: Some(1e9) }, "Scale", "The factor for this file alone.";
    "compressionAndExport.fileExports[].textureFormat.baseColor": ENCODINGS, "Base colour", "How the images are written; auto keeps the source's format. ktx2 needs a viewer with KHR_texture_basisu; this service's viewer has it.";
    "compressionAndExport.fileExports[].textureFormat.emissive": ENCODINGS, "Emissive", ENCODING;
    "compressionAndExport.fileExports[].textureFormat.normal": ENCODINGS, "Normals", ENCODING;
    "compressionAndExport.fileExports[].textureFormat.orm": ENCODINGS, "Occlusion, roughness, metal", ENCODING;
    "compressionAndExport.fileExports[].textureQuality": TEXTURE_QUALITIES, "Quality of textures", "How much JPEG and WebP lose; high, which is the default, keeps normals and other numbers in WebP exactly.";
    "import.general.rotateZUp": Flag, "Turn from z up to y up", "For models that lie on their back.";
    "import.general.fixAnimationData": Flag, "Repair animations", "Removes keyframes that viewers refuse, sorts the others, and gives rotations unit length.";
    "import.general.normalmapYFlip": Flag, "Flip normal maps", "Inverts their green channel.";
    "import.USD.profile": PROFILES, "Check usdz files", "Warns where a usdz breaks the rules of Apple's viewers.";
    "import.USD.purpose": PURPOSES, "Purpose of USD prims", "Which prims are read besides those for every purpose.";
    "import.CAD.tessellationResolution": TESSELLATIONS, "Triangles of CAD files", "How closely they follow the surfaces.";
    "import.discard.cameras": Flag, "Leave out cameras", "In every file.";
    "import.discard.lights": Flag, "Leave out lights", "In every file.";
    "import.discard.animations": Flag, "Leave out animations", "In every file.";
    "import.discard.morphTargets": Flag, "Leave out morph targets", "In every file.";
    "import.discard.unusedUVs": Flag, "Leave out unused UVs", "Texture coordinates that no material uses.";
    "export[].fileName": Text, "Name of the file", "Without extension; empty names it after the model.";
    "export[].textureMapFilePrefix": Text, "Prefix of textures", "Begins the names of texture files.";
    "export[].discard": DISCARDS, "Leave out", "In this file alone.";
    "export[].format.gltf.pbrMaterial" => "materials are written whole";
};

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::super::Settings;
    use super::*;

    /// A configuration with one value, and the other keys that an export requires.
    fn config(path: &str, value: &Value) -> Map<String, Value> {
        let mut config = value.clone();
        for step in path.rsplit('.') {
            let (name, is_list) = match step.strip_suffix("[]") {
                Some(name) => (name, true),
                None => (step, false),
            };
            if is_list {
                let members = config.as_object_mut().expect("an element");
                if name == "fileExports" {
                    members.entry("fileType").or_insert_with(|| "glb".into());
                }
                config = json!([config]);
            }
            config = json!({ name: config });
        }
        config.as_object().expect("an object").clone()
    }

    /// Values that the reader must accept, and values that it must refuse.
    fn samples(kind: FormValue) -> (Vec<Value>, Vec<Value>) {
        let text = || json!("no such word");
        match kind {
            FormValue::Flag => (vec![json!(true), json!(false)], vec![text(), json!(1)]),
            FormValue::Count { least } => (
                vec![json!(least), json!(least + 99_999)],
                vec![json!(least - 1), json!(1.5), text()],
            ),
            FormValue::Number { least, most } => {
                let above = most.map(|most| json!(most * 1.5));
                let inside = json!(most.unwrap_or(1e12));
                let below = json!(least - 1.0);
                let refused = [below, text()].into_iter().chain(above);
                (vec![inside, json!(least + 0.5)], refused.collect())
            }
            FormValue::Text => (vec![text()], vec![json!(1)]),
            FormValue::Choice { options } => (
                options.iter().map(|option| json!(option)).collect(),
                vec![text(), json!({})],
            ),
            FormValue::Names { options } => (vec![json!(options)], vec![json!(true)]),
        }
    }

    #[test]
    fn the_reader_takes_the_values_that_a_form_offers_and_no_others() {
        for key in KEYS {
            let Treatment::Done(form) = key.treatment else {
                continue;
            };
            let (taken, refused) = samples(form.value);
            for value in taken {
                let read = Settings::read(&config(key.path, &value));
                let settings = read.unwrap_or_else(|error| panic!("{}: {error}", key.path));
                assert_eq!(settings.not_done, Vec::<String>::new(), "{value}");
                assert!(settings.unknown.is_empty(), "{}", key.path);
            }
            for value in refused {
                let read = Settings::read(&config(key.path, &value));
                let is_noted = read.is_ok_and(|settings| settings.not_done.is_empty());
                assert!(!is_noted, "{} takes {value}", key.path);
            }
        }
    }
}

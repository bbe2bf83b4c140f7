//! Networks of shaders: what an input of a shader gets, through connections, node graphs and inputs of materials.

use openusd::sdf::{Path, Value};
use openusd::usd::{Prim, Stage};

use super::super::super::scene::{UvTransform, Wrap};
use super::super::channels::{Curve, ImageChannel};
use super::values::{is_plain, number, text, text_of, value, vector};

/// A longer chain of connections is a loop.
const MAX_STEPS: usize = 16;

/// What an input gets.
pub(super) enum InputSource {
    Value(Value),
    /// An output of another shader.
    Output {
        shader: Prim,
        output: String,
    },
}

/// What the input or output `name` of a prim gets.
pub(super) fn source_of(stage: &Stage, prim: &Prim, name: &str) -> Option<InputSource> {
    let mut path = prim.path().append_property(name).ok()?;
    for _ in 0..MAX_STEPS {
        let attribute = stage.attribute(path.clone());
        let connected = attribute
            .connections()
            .ok()
            .and_then(|all| all.into_iter().find(is_plain));
        let Some(next) = connected else {
            return value(&attribute, None).map(InputSource::Value);
        };
        let owner = stage.prim(next.prim_path());
        let (_, property) = next.split_property()?;
        if let Some(output) = property.strip_prefix("outputs:")
            && shader_id(&owner).is_some()
        {
            return Some(InputSource::Output {
                shader: owner,
                output: output.to_owned(),
            });
        }
        path = next;
    }
    None
}

/// The kind of a shader, such as `UsdPreviewSurface`.
pub(super) fn shader_id(prim: &Prim) -> Option<String> {
    text(prim, "info:id")
}

/// The shader of a material's surface.
pub(super) fn surface_of(stage: &Stage, material: &Path) -> Option<Prim> {
    let material = stage.prim(material.clone());
    let outputs = [
        "outputs:surface",
        "outputs:glslfx:surface",
        "outputs:mtlx:surface",
    ];
    outputs
        .into_iter()
        .find_map(|output| match source_of(stage, &material, output)? {
            InputSource::Output { shader, .. } => Some(shader),
            InputSource::Value(_) => None,
        })
}

/// A texture that an input reads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextureSource {
    /// As the layer spells it.
    pub(super) asset: String,
    /// The file, if there is one.
    pub(super) file: Option<String>,
    /// The channel, for inputs of one number.
    pub(super) channel: ImageChannel,
    /// The name of the set of texture coordinates.
    pub(super) coords: String,
    pub(super) transform: UvTransform,
    pub(super) wraps: [Wrap; 2],
    /// Whether it is black outside of its image, which glTF cannot say.
    pub(super) is_black_outside: bool,
    pub(super) scale: [f32; 4],
    pub(super) bias: [f32; 4],
    /// What the texture shows where its file cannot be read.
    pub(super) fallback: Option<[f32; 4]>,
    /// What its file stores, if the layer says so.
    pub(super) space: Option<ColorSpace>,
    /// Whether it is for occlusion, of which glTF has a strength instead of a factor.
    pub(super) is_occlusion: bool,
}

/// How the colours of a file are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ColorSpace {
    Raw,
    Srgb,
}

/// What glTF takes an image for: colours are sRGB, numbers are linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ImageUse {
    Colors,
    Numbers,
}

impl TextureSource {
    /// The file, or the name in the layer where there is none.
    pub(super) fn place(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.asset)
    }

    /// Factor and summand of the channel, if glTF cannot say them, so that the image changes.
    pub(super) fn shift(&self) -> Option<[f32; 2]> {
        let at = self.channel_place();
        let [factor, summand] = [self.scale[at], self.bias[at]];
        // A strength of occlusion is the factor of what is missing to 1.
        let wanted = match self.is_occlusion {
            true => 1.0 - factor,
            false => 0.0,
        };
        let is_said = (summand - wanted).abs() < 1e-5 && (0.0..=1.0).contains(&factor);
        (!is_said).then_some([factor, summand])
    }

    /// How the file has to be converted for this use.
    pub(super) fn curve(&self, used: ImageUse) -> Option<Curve> {
        match (used, self.space) {
            (ImageUse::Colors, Some(ColorSpace::Raw)) => Some(Curve::LinearToSrgb),
            // Alpha is never encoded.
            (ImageUse::Numbers, Some(ColorSpace::Srgb)) if self.channel != ImageChannel::Alpha => {
                Some(Curve::SrgbToLinear)
            }
            _ => None,
        }
    }

    /// Whether both read the same place of their images.
    pub(super) fn lies_like(&self, other: &TextureSource) -> bool {
        self.coords == other.coords
            && self.transform == other.transform
            && self.wraps == other.wraps
    }

    /// What glTF multiplies the channel with; of occlusion, its strength.
    pub(super) fn factor(&self) -> f32 {
        match self.shift() {
            Some(_) => 1.0,
            None => self.scale[self.channel_place()],
        }
    }

    fn channel_place(&self) -> usize {
        match self.channel {
            ImageChannel::Red | ImageChannel::Luma => 0,
            ImageChannel::Green => 1,
            ImageChannel::Blue => 2,
            ImageChannel::Alpha => 3,
        }
    }
}

/// An input of a surface.
pub(super) enum SurfaceInput {
    Unset,
    Value(Value),
    Texture(Box<TextureSource>),
    /// The fallback of a texture that cannot be read: as a colour and as a number.
    Fallback([f32; 3], f32),
    /// A primvar of the mesh, by its name.
    Primvar(String),
    /// The output of a shader of this kind, which is not read.
    Unknown(String),
}

impl SurfaceInput {
    pub(super) fn of(stage: &Stage, surface: &Prim, name: &str) -> SurfaceInput {
        let (shader, output) = match source_of(stage, surface, &format!("inputs:{name}")) {
            None => return SurfaceInput::Unset,
            Some(InputSource::Value(value)) => return SurfaceInput::Value(value),
            Some(InputSource::Output { shader, output }) => (shader, output),
        };
        let id = shader_id(&shader).unwrap_or_default();
        if id == "UsdUVTexture" {
            return match texture_of(stage, &shader, &output) {
                Some(texture) => SurfaceInput::Texture(Box::new(texture)),
                None => SurfaceInput::Unset,
            };
        }
        if id.starts_with("UsdPrimvarReader_") {
            return SurfaceInput::Primvar(primvar_of(stage, &shader));
        }
        SurfaceInput::Unknown(id)
    }

    pub(super) fn texture(&self) -> Option<&TextureSource> {
        match self {
            SurfaceInput::Texture(texture) => Some(texture),
            _ => None,
        }
    }

    /// Replaces a texture by its fallback.
    pub(super) fn fall_back(&mut self) {
        let Some(source) = self.texture() else {
            return;
        };
        *self = match source.fallback {
            Some(all @ [red, green, blue, _]) => {
                SurfaceInput::Fallback([red, green, blue], all[source.channel_place()])
            }
            None => SurfaceInput::Unset,
        };
    }

    pub(super) fn number(&self) -> Option<f32> {
        match self {
            SurfaceInput::Fallback(_, number) => Some(*number),
            SurfaceInput::Value(value) => number(value).map(|number| number as f32),
            _ => None,
        }
    }

    pub(super) fn color(&self) -> Option<[f32; 3]> {
        match self {
            SurfaceInput::Fallback(color, _) => Some(*color),
            SurfaceInput::Value(value) => vector(value.clone()),
            _ => None,
        }
    }
}

fn input_value(stage: &Stage, shader: &Prim, name: &str) -> Option<Value> {
    match source_of(stage, shader, &format!("inputs:{name}"))? {
        InputSource::Value(value) => Some(value),
        InputSource::Output { .. } => None,
    }
}

fn texture_of(stage: &Stage, shader: &Prim, output: &str) -> Option<TextureSource> {
    let Value::AssetPath(asset) = input_value(stage, shader, "file")? else {
        return None;
    };
    let words = ["wrapS", "wrapT"].map(|name| {
        let word = input_value(stage, shader, name);
        word.and_then(|value| text_of(&value)).unwrap_or_default()
    });
    let wraps = words.each_ref().map(|word| match word.as_str() {
        "mirror" => Wrap::MirroredRepeat,
        "clamp" | "black" => Wrap::ClampToEdge,
        _ => Wrap::Repeat,
    });
    let four = |name: &str| input_value(stage, shader, name).and_then(vector::<4>);
    let space = input_value(stage, shader, "sourceColorSpace").and_then(|value| text_of(&value));
    let (coords, transform) = coords_of(stage, shader);
    Some(TextureSource {
        asset: asset.as_str().to_owned(),
        file: asset.resolved_path().map(str::to_owned),
        channel: match output {
            "g" => ImageChannel::Green,
            "b" => ImageChannel::Blue,
            "a" => ImageChannel::Alpha,
            _ => ImageChannel::Red,
        },
        coords,
        transform,
        wraps,
        is_black_outside: words.iter().any(|word| word == "black"),
        scale: four("scale").unwrap_or([1.0; 4]),
        bias: four("bias").unwrap_or([0.0; 4]),
        fallback: four("fallback"),
        space: match space.as_deref() {
            Some("raw") => Some(ColorSpace::Raw),
            Some("sRGB") => Some(ColorSpace::Srgb),
            _ => None,
        },
        is_occlusion: false,
    })
}

/// The set of texture coordinates that a texture reads, and its transform.
fn coords_of(stage: &Stage, texture: &Prim) -> (String, UvTransform) {
    let mut transform = UvTransform::default();
    let Some(InputSource::Output { mut shader, .. }) = source_of(stage, texture, "inputs:st")
    else {
        return ("st".to_owned(), transform);
    };
    if shader_id(&shader).as_deref() == Some("UsdTransform2d") {
        transform = transform_of(stage, &shader);
        match source_of(stage, &shader, "inputs:in") {
            Some(InputSource::Output { shader: reader, .. }) => shader = reader,
            _ => return ("st".to_owned(), transform),
        }
    }
    (primvar_of(stage, &shader), transform)
}

fn primvar_of(stage: &Stage, reader: &Prim) -> String {
    let name = input_value(stage, reader, "varname").and_then(|value| text_of(&value));
    name.unwrap_or_else(|| "st".to_owned())
}

/// The transform as glTF has it: USD rotates around the lower left corner, glTF around the upper left one.
fn transform_of(stage: &Stage, shader: &Prim) -> UvTransform {
    let two = |name: &str, usual: [f32; 2]| {
        let written = input_value(stage, shader, name).and_then(vector::<2>);
        written.unwrap_or(usual)
    };
    let degrees = input_value(stage, shader, "rotation").and_then(|value| number(&value));
    let rotation = degrees.unwrap_or(0.0).to_radians() as f32;
    let [width, height] = two("scale", [1.0; 2]);
    let [right, up] = two("translation", [0.0; 2]);
    let (sin, cos) = rotation.sin_cos();
    UvTransform {
        offset: [right - sin * height, 1.0 - up - cos * height],
        rotation,
        scale: [width, height],
    }
}

//! Brings textures within their size limits and into the requested format.
//!
//! An image is never enlarged, and keeps its bytes if nothing has to change. How it is processed depends on its use in
//! materials: colours are resized in linear light, normals stay unit vectors, and alpha that is used is never dropped
//! for JPEG.

mod avif;
mod codecs;
mod encode;
mod ktx2;
mod pixels;
mod resize;
mod sources;
mod tint;
mod usage;
mod webp;

use rayon::prelude::*;
use serde_json::Value;

use super::scene::{Image, Scene};
use super::settings::{TextureFormats, TextureLimits};
use assetfs_formats::warnings::{Warning, WarningKind};
use assetfs_formats::{GltfUse, ImageKind, TextureFormat};
use codecs::{ConversionTarget, ImageEncoding};
pub use codecs::{channels, decode, dimensions};
use pixels::Pixels;
pub use sources::settle_sources;
pub use tint::tinted;
pub use usage::{AlphaUse, Usage, usages};

/// Limits and formats for the textures of one export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TexturePlan {
    /// The longest side by slot.
    pub limits: TextureLimits,
    /// The encoding by slot.
    pub formats: TextureFormats,
    /// Whether the green channel of normal maps is inverted.
    pub flip_normals: bool,
    /// Whether the format holds only PNG and JPEG.
    pub plain_only: bool,
}

/// An image that was changed.
#[derive(Debug, Clone)]
pub struct ChangedImage {
    pub name: String,
    pub before: (u32, u32),
    pub after: (u32, u32),
    pub bytes_before: usize,
    pub bytes_after: usize,
}

/// The changed images, and warnings.
#[derive(Debug, Default)]
pub struct Fitted {
    /// Images that were changed.
    pub changed: Vec<ChangedImage>,
    /// Requests that could not be fulfilled.
    pub warnings: Vec<Warning>,
}

/// A square image that the engine baked, without loss; [`fit`] encodes it for each export. `replaces` is the kind of the
/// images that it replaces.
///
/// # Errors
/// When the encoder fails; the text says why.
pub fn baked(
    side: u32,
    rgba: &[u8],
    alpha: AlphaUse,
    replaces: ImageKind,
) -> Result<Image, String> {
    let mut pixels = Pixels {
        width: side,
        height: side,
        rgba: rgba.to_vec(),
    };
    if alpha == AlphaUse::Unused {
        pixels.forget_alpha();
    }
    let encoded = encode::draft(&pixels)?;
    Ok(Image {
        media_type: encoded.kind.media_type().to_owned(),
        bytes: encoded.bytes.into(),
        replaces: Some(replaces),
        ..Image::default()
    })
}

/// Brings all images of the scene in line with the plan.
pub fn fit(scene: &mut Scene, plan: &TexturePlan) -> Fitted {
    let usages = usages(scene);
    let results: Vec<_> = scene
        .images
        .par_iter()
        .zip(&usages)
        .enumerate()
        .map(|(index, (image, usage))| fit_image(index, image, usage, plan))
        .collect();
    let mut fitted = Fitted::default();
    fitted.warnings.extend(unfulfilled(scene, &usages, plan));
    for (image, result) in scene.images.iter_mut().zip(results) {
        fitted.warnings.extend(result.warning);
        if let Some((replaced, changed)) = result.replaced {
            *image = replaced;
            fitted.changed.push(changed);
        }
    }
    settle_sources(scene);
    fitted
}

/// Warnings for formats that the export or the use of an image rules out.
fn unfulfilled(scene: &Scene, usages: &[Usage], plan: &TexturePlan) -> Vec<Warning> {
    let shown: Vec<_> = (scene.images.iter().zip(usages).enumerate())
        .filter(|(_, (image, usage))| !image.bytes.is_empty() && !usage.slots.is_empty())
        .map(|(index, (image, usage))| (index, image, usage, asked_format(usage, plan)))
        .collect();
    if plan.plain_only {
        let is_lost = shown.iter().any(|(.., asked)| asked.is_gltf_only());
        let text = "textures are written as PNG or JPEG where WebP or KTX2 is asked for, because only glb and gltf hold these";
        let warning = is_lost.then(|| Warning::new(WarningKind::SettingIgnored, text));
        return warning.into_iter().collect();
    }
    let mixed = shown
        .iter()
        .filter(|(.., usage, asked)| *asked == TextureFormat::Ktx2 && usage.is_mixed());
    mixed
        .map(|(index, image, ..)| {
            let text = format!(
                "texture {} is used both as colour and as numbers, which KTX2 stores in different ways; it is not written as KTX2",
                name_of(*index, image)
            );
            Warning::new(WarningKind::SettingIgnored, text)
        })
        .collect()
}

/// An image's name for messages.
pub fn name_of(index: usize, image: &Image) -> String {
    let own = image.json.get("name").and_then(Value::as_str);
    let file = image.file_name.as_deref();
    file.or(own)
        .filter(|name| !name.is_empty())
        .map_or_else(|| format!("image {index}"), str::to_owned)
}

#[derive(Default)]
struct FitResult {
    replaced: Option<(Image, ChangedImage)>,
    warning: Option<Warning>,
}

impl FitResult {
    fn warning(kind: WarningKind, text: String) -> FitResult {
        FitResult {
            replaced: None,
            warning: Some(Warning::new(kind, text)),
        }
    }
}

fn fit_image(index: usize, image: &Image, usage: &Usage, plan: &TexturePlan) -> FitResult {
    if image.bytes.is_empty() || usage.slots.is_empty() {
        return FitResult::default();
    }
    let name = name_of(index, image);
    let limit = usage
        .slots
        .iter()
        .filter_map(|slot| plan.limits.of(*slot))
        .min();
    let asked = match asked_format(usage, plan) {
        asked if plan.plain_only && asked.is_gltf_only() => TextureFormat::Auto,
        TextureFormat::Ktx2 if usage.is_mixed() => TextureFormat::Auto,
        asked => asked,
    };
    let flips = plan.flip_normals && usage.is_normal();
    let kind = image.kind();
    // Formats that glTF viewers need not support always become PNG or JPEG.
    let is_plain = kind.is_some_and(ImageKind::is_plain);
    let is_forbidden = kind.is_some_and(|kind| kind.row().gltf == GltfUse::Forbidden);
    let is_foreign =
        is_forbidden || image.media_type == "image/x-tga" || plan.plain_only && !is_plain;
    let Some(before) = dimensions(&image.bytes) else {
        let is_asked = limit.is_some() || asked != TextureFormat::Auto || flips;
        return undecodable(&name, &image.media_type, is_asked || is_foreign);
    };
    let target = ConversionTarget {
        size: limited(before, limit),
        encoding: ImageEncoding::of(image, usage, asked, plan.formats.quality, !plan.plain_only),
        flips,
    };
    let after = target.final_size();
    let is_baked = image.replaces.is_some();
    let fits_format = is_of_format(kind, asked, plan);
    if target.size == before && fits_format && !flips && !is_baked {
        return FitResult::default();
    }
    match codecs::convert(image, usage, &target) {
        Ok(converted) => {
            let must_change = after != before
                || flips
                || is_foreign
                || is_baked
                || matches!(asked, TextureFormat::Png | TextureFormat::Ktx2);
            let kept = Kept {
                is_resized: after != before,
                is_plain,
                may_grow: must_change,
            };
            let mut result = FitResult {
                warning: not_as_asked(&name, image, &converted, asked, &kept),
                ..FitResult::default()
            };
            if result.warning.is_none() || is_baked {
                result.replaced = Some(replaced(image, converted, name, before, after));
            }
            result
        }
        Err(why) => FitResult::warning(
            WarningKind::BadTexture,
            format!("texture {name} cannot be read ({why}) and is not changed"),
        ),
    }
}

/// What is true of an image beside its format.
struct Kept {
    is_resized: bool,
    /// Every viewer shows it as it is.
    is_plain: bool,
    /// It has to change, even if it has more bytes then.
    may_grow: bool,
}

/// Why an image is not in the format that was asked for, or stays as it is.
fn not_as_asked(
    name: &str,
    image: &Image,
    converted: &encode::Encoded,
    asked: TextureFormat,
    kept: &Kept,
) -> Option<Warning> {
    let is_other = Some(converted.kind) != asked.kind();
    let has_alpha = channels(&converted.bytes) == Some(4);
    let stays = !kept.is_resized && kept.is_plain;
    let (is_worth_a_word, text) = if is_other && asked == TextureFormat::Jpg && has_alpha {
        let text = "uses its alpha channel, which JPEG does not have; it stays PNG";
        (stays, text)
    } else if is_other && asked == TextureFormat::WebP {
        (stays, "is too large for WebP; it stays as it is")
    } else {
        let is_larger = converted.bytes.len() >= image.bytes.len();
        let text = "stays as it is: in the format asked for it would be larger";
        (!kept.may_grow && is_larger, text)
    };
    let warning = || {
        Warning::new(
            WarningKind::SettingIgnored,
            format!("texture {name} {text}"),
        )
    };
    is_worth_a_word.then(warning)
}

fn undecodable(name: &str, kind: &str, must_change: bool) -> FitResult {
    match must_change {
        true => FitResult::warning(
            WarningKind::BadTexture,
            format!(
                "texture {name} ({kind}) cannot be decoded here; it is not changed, even if it exceeds the size limit"
            ),
        ),
        false => FitResult::default(),
    }
}

/// Whether an image of this kind is in the format that is asked for.
fn is_of_format(kind: Option<ImageKind>, asked: TextureFormat, plan: &TexturePlan) -> bool {
    match (asked.kind(), kind.map(|kind| kind.row().gltf)) {
        (Some(asked), _) => kind == Some(asked),
        (None, Some(GltfUse::Core)) => true,
        (None, Some(GltfUse::Extension(_))) => !plan.plain_only,
        (None, Some(GltfUse::Forbidden) | None) => false,
    }
}

fn replaced(
    image: &Image,
    converted: encode::Encoded,
    name: String,
    before: (u32, u32),
    after: (u32, u32),
) -> (Image, ChangedImage) {
    let changed = ChangedImage {
        name,
        before,
        after,
        bytes_before: image.bytes.len(),
        bytes_after: converted.bytes.len(),
    };
    let file_name = image.file_name.as_ref().map(|file| {
        let stem = file
            .rsplit_once('.')
            .map_or(file.as_str(), |(stem, _)| stem);
        format!("{stem}.{}", converted.kind.name())
    });
    let replaced = Image {
        json: image.json.clone(),
        file_name,
        media_type: converted.kind.media_type().to_owned(),
        bytes: converted.bytes.into(),
        replaces: None,
    };
    (replaced, changed)
}

/// The format that the plan sets for an image; the lossless one where its slots disagree.
fn asked_format(usage: &Usage, plan: &TexturePlan) -> TextureFormat {
    let mut formats = usage.slots.iter().map(|slot| plan.formats.of(*slot));
    let Some(first) = formats.next() else {
        return TextureFormat::Auto;
    };
    if formats.all(|format| format == first) {
        first
    } else {
        TextureFormat::Png
    }
}

/// The size within the limit, with the same proportions.
fn limited(size: (u32, u32), limit: Option<u32>) -> (u32, u32) {
    let longest = size.0.max(size.1);
    match limit {
        Some(limit) if longest > limit => {
            let fitted = |side: u32| {
                let exact = f64::from(side) * f64::from(limit) / f64::from(longest);
                (exact.round() as u32).max(1)
            };
            (fitted(size.0), fitted(size.1))
        }
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_enlarged_and_proportions_stay() {
        for (size, limit, fitted) in [
            ((2048, 1024), Some(512), (512, 256)),
            ((512, 512), Some(1024), (512, 512)),
            ((512, 512), None, (512, 512)),
            ((4096, 3), Some(256), (256, 1)),
        ] {
            assert_eq!(limited(size, limit), fitted);
        }
    }
}

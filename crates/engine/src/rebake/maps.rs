//! The textures of a class while they are baked.

/// One pixel: red, green, blue, alpha.
pub(super) type Pixel = [u8; 4];

/// The textures of a class, square and of one size.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) side: u32,
    /// sRGB with alpha.
    pub(super) base_color: Vec<Pixel>,
    /// Occlusion, roughness, metallic.
    pub(super) orm: Vec<Pixel>,
    /// sRGB, as a part of `emissive_scale`.
    pub(super) emissive: Vec<Pixel>,
    /// The brightest channel of the emitted light.
    pub(super) emissive_scale: f32,
    pub(super) normal: Vec<Pixel>,
    /// Whether each texel was baked; the others are filled from their neighbours.
    pub(super) is_covered: Vec<bool>,
}

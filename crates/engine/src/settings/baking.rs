//! Settings of baking: how textures are made anew for a simplified mesh.

/// How many samples a texel is baked from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BakingQuality {
    /// One sample a texel.
    Low,
    /// Four samples.
    #[default]
    Medium,
    /// Sixteen samples.
    High,
}

impl BakingQuality {
    /// The quality called `name`, in any case.
    pub fn from_name(name: &str) -> Option<BakingQuality> {
        match name.to_lowercase().as_str() {
            "low" => Some(BakingQuality::Low),
            "medium" => Some(BakingQuality::Medium),
            "high" => Some(BakingQuality::High),
            _ => None,
        }
    }
}

/// How textures are baked.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Baking {
    pub quality: Option<BakingQuality>,
    /// Whether normals are baked even where the source has no normal map.
    pub normal_map: bool,
    /// Whether ambient occlusion is computed.
    pub occlusion_map: bool,
    /// How much charts may be stretched: 0 is not at all.
    pub stretch: Option<f64>,
}

//! The shaders of a texture: its coordinates, their transform, and the image.

use super::super::super::scene::{TextureUse, UvTransform, Wrap};
use super::geometry::coord_name;

/// The input of the shader that a texture feeds.
pub(super) struct Input<'a> {
    /// The shader's name within its material.
    pub(super) node: &'a str,
    /// The name of the image in the package.
    pub(super) file: String,
    pub(super) texture: &'a TextureUse,
    /// Whether the pixels are colours.
    pub(super) is_srgb: bool,
    pub(super) scale: [f32; 4],
    pub(super) bias: [f32; 4],
}

impl Input<'_> {
    /// Writes the shaders with `line`, which takes a depth and a line.
    pub(super) fn write(&self, path: &str, line: &mut dyn FnMut(usize, &str)) {
        let (node, file) = (self.node, &self.file);
        let has_transform = self.texture.transform != UvTransform::default();
        let source = if has_transform { "Transform" } else { "Reader" };
        line(1, &format!("def Shader \"{node}Reader\""));
        line(1, "{");
        line(2, "uniform token info:id = \"UsdPrimvarReader_float2\"");
        let primvar = coord_name(self.texture.tex_coord);
        line(2, &format!("string inputs:varname = \"{primvar}\""));
        line(2, "float2 outputs:result");
        line(1, "}");
        if has_transform {
            write_transform(path, node, &self.texture.transform, line);
        }
        line(1, &format!("def Shader \"{node}\""));
        line(1, "{");
        line(2, "uniform token info:id = \"UsdUVTexture\"");
        line(2, &format!("asset inputs:file = @{file}@"));
        line(
            2,
            &format!("float2 inputs:st.connect = <{path}/{node}{source}.outputs:result>"),
        );
        let space = if self.is_srgb { "sRGB" } else { "raw" };
        line(2, &format!("token inputs:sourceColorSpace = \"{space}\""));
        for (name, wrap) in [
            ("wrapS", self.texture.wrap_s),
            ("wrapT", self.texture.wrap_t),
        ] {
            line(2, &format!("token inputs:{name} = \"{}\"", wrap_name(wrap)));
        }
        for (name, [x, y, z, w], plain) in [
            ("scale", self.scale, [1.0; 4]),
            ("bias", self.bias, [0.0; 4]),
        ] {
            if [x, y, z, w] != plain {
                line(2, &format!("float4 inputs:{name} = ({x}, {y}, {z}, {w})"));
            }
        }
        for output in [
            "float outputs:r",
            "float outputs:g",
            "float outputs:b",
            "float outputs:a",
            "float3 outputs:rgb",
        ] {
            line(2, output);
        }
        line(1, "}");
    }
}

/// Writes a transform of texture coordinates. glTF rotates around the upper left corner, USD around the lower left
/// one.
fn write_transform(
    path: &str,
    node: &str,
    transform: &UvTransform,
    line: &mut dyn FnMut(usize, &str),
) {
    let (sin, cos) = transform.rotation.sin_cos();
    let [u, v] = transform.offset;
    let [width, height] = transform.scale;
    let translation = [u + sin * height, 1.0 - v - cos * height];
    line(1, &format!("def Shader \"{node}Transform\""));
    line(1, "{");
    line(2, "uniform token info:id = \"UsdTransform2d\"");
    line(
        2,
        &format!("float2 inputs:in.connect = <{path}/{node}Reader.outputs:result>"),
    );
    line(
        2,
        &format!(
            "float inputs:rotation = {}",
            transform.rotation.to_degrees()
        ),
    );
    line(2, &format!("float2 inputs:scale = ({width}, {height})"));
    line(
        2,
        &format!(
            "float2 inputs:translation = ({}, {})",
            translation[0], translation[1]
        ),
    );
    line(2, "float2 outputs:result");
    line(1, "}");
}

fn wrap_name(wrap: Wrap) -> &'static str {
    match wrap {
        Wrap::Repeat => "repeat",
        Wrap::MirroredRepeat => "mirror",
        Wrap::ClampToEdge => "clamp",
    }
}

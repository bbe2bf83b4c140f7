//! Materials as `UsdPreviewSurface`, which every USDZ viewer supports.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::super::super::scene::{AlphaMode, DEFAULT_IOR, Material, Scene};
use super::super::lit::lit_material;
use super::identifiers::unique;
use super::images::UsdImages;
use super::texture::Input;

/// The materials that meshes use, and their images.
pub(super) struct UsdMaterials<'s> {
    scene: &'s Scene,
    /// By material, and whether it shows the colours of vertices.
    paths: BTreeMap<(Option<usize>, bool), String>,
    names: BTreeSet<String>,
    text: String,
    images: UsdImages<'s>,
}

impl<'s> UsdMaterials<'s> {
    pub(super) fn new(scene: &'s Scene) -> UsdMaterials<'s> {
        UsdMaterials {
            scene,
            paths: BTreeMap::new(),
            names: BTreeSet::new(),
            text: String::new(),
            images: UsdImages::new(scene),
        }
    }

    /// The scope of materials, and the images that they use.
    pub(super) fn finish(self) -> (String, Vec<(String, Bytes)>) {
        let images = self.images.finish();
        if self.text.is_empty() {
            return (String::new(), images);
        }
        (
            format!("    def Scope \"Materials\"\n    {{\n{}    }}\n", self.text),
            images,
        )
    }

    /// The path of a material on the stage.
    pub(super) fn path_of(&mut self, index: Option<usize>, shows_colors: bool) -> String {
        if let Some(known) = self.paths.get(&(index, shows_colors)) {
            return known.clone();
        }
        let material = lit_material(self.scene, index);
        let name = unique(
            material.name.as_deref().unwrap_or("material"),
            &mut self.names,
        );
        let path = format!("/Root/Materials/{name}");
        self.write(&name, &path, &material, shows_colors);
        self.paths.insert((index, shows_colors), path.clone());
        path
    }

    /// Whether a material can show colours of vertices: `UsdPreviewSurface` cannot multiply them with a texture.
    pub(super) fn can_show_colors(&self, index: Option<usize>) -> bool {
        self.scene.material(index).base_color_texture.is_none()
    }

    /// What the colours of vertices are multiplied with.
    pub(super) fn tint_of(&self, index: Option<usize>, shows_colors: bool) -> [f32; 3] {
        let [red, green, blue, _] = self.scene.material(index).base_color;
        if shows_colors {
            [red, green, blue]
        } else {
            [1.0; 3]
        }
    }

    fn line(&mut self, depth: usize, line: &str) {
        for _ in 0..depth + 2 {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn write(&mut self, name: &str, path: &str, material: &Material, shows_colors: bool) {
        self.line(0, &format!("def Material \"{name}\""));
        self.line(0, "{");
        self.line(
            1,
            &format!("token outputs:surface.connect = <{path}/Surface.outputs:surface>"),
        );
        self.line(1, "def Shader \"Surface\"");
        self.line(1, "{");
        self.line(2, "uniform token info:id = \"UsdPreviewSurface\"");
        let inputs = self.surface_inputs(path, material, shows_colors);
        self.line(2, "token outputs:surface");
        self.line(1, "}");
        for input in inputs {
            input.write(path, &mut |depth, line| self.line(depth, line));
        }
        if shows_colors {
            let [red, green, blue, _] = material.base_color;
            self.line(1, "def Shader \"VertexColor\"");
            self.line(1, "{");
            self.line(2, "uniform token info:id = \"UsdPrimvarReader_float3\"");
            self.line(
                2,
                &format!("float3 inputs:fallback = ({red}, {green}, {blue})"),
            );
            self.line(2, "string inputs:varname = \"displayColor\"");
            self.line(2, "float3 outputs:result");
            self.line(1, "}");
        }
        self.line(0, "}");
    }

    fn surface_inputs<'m>(
        &mut self,
        path: &str,
        material: &'m Material,
        shows_colors: bool,
    ) -> Vec<Input<'m>> {
        let mut inputs = Vec::new();
        self.write_base_color(path, material, shows_colors, &mut inputs);
        self.write_opacity(path, material);
        self.write_emission(path, material, &mut inputs);
        self.write_numbers(path, material, &mut inputs);
        self.write_coat(material);
        if let Some(texture) = &material.normal_texture {
            self.connect(path, "normal3f inputs:normal", "Normal", "rgb");
            let strength = material.normal_scale;
            let changed = self.images.name_with_strength(texture.image, strength);
            // The factor of what the pixels do not have.
            let left = if changed.is_some() { 1.0 } else { strength };
            inputs.push(Input {
                node: "Normal",
                file: changed.unwrap_or_else(|| self.images.name_of(texture.image)),
                texture,
                is_srgb: false,
                scale: [2.0 * left, 2.0 * left, 2.0, 1.0],
                bias: [-left, -left, -1.0, 0.0],
            });
        }
        inputs
    }

    /// Writes the base colour. An unlit material emits its colour instead, so that light does not change it. Vertex colours
    /// stay lit, because readers accept them only as the base colour.
    fn write_base_color<'m>(
        &mut self,
        path: &str,
        material: &'m Material,
        shows_colors: bool,
        inputs: &mut Vec<Input<'m>>,
    ) {
        let [red, green, blue, alpha] = material.base_color;
        let is_emitted = material.unlit && !shows_colors;
        if is_emitted {
            self.line(2, "color3f inputs:diffuseColor = (0, 0, 0)");
        }
        let color = match is_emitted {
            true => "color3f inputs:emissiveColor",
            false => "color3f inputs:diffuseColor",
        };
        match &material.base_color_texture {
            Some(texture) => {
                self.connect(path, color, "BaseColor", "rgb");
                inputs.push(Input {
                    node: "BaseColor",
                    file: self.images.name_of(texture.image),
                    texture,
                    is_srgb: true,
                    scale: [red, green, blue, alpha],
                    bias: [0.0; 4],
                });
            }
            None if shows_colors => {
                self.connect(path, color, "VertexColor", "result");
            }
            None => self.line(2, &format!("{color} = ({red}, {green}, {blue})")),
        }
    }

    fn write_coat(&mut self, material: &Material) {
        let (coat, roughness) = (material.clearcoat, material.clearcoat_roughness);
        if coat > 0.0 {
            self.set("clearcoat", coat);
            self.set("clearcoatRoughness", roughness);
        }
        // A smaller one is not physical: glTF uses 0 for surfaces that reflect everything.
        if material.ior >= 1.0 && material.ior != DEFAULT_IOR {
            self.set("ior", material.ior);
        }
    }

    fn write_opacity(&mut self, path: &str, material: &Material) {
        if material.alpha_mode == AlphaMode::Opaque {
            return;
        }
        match &material.base_color_texture {
            Some(_) => self.connect(path, "float inputs:opacity", "BaseColor", "a"),
            None => self.set("opacity", material.base_color[3]),
        }
        if material.alpha_mode == AlphaMode::Mask {
            self.set("opacityThreshold", material.alpha_cutoff);
        }
    }

    fn write_emission<'m>(
        &mut self,
        path: &str,
        material: &'m Material,
        inputs: &mut Vec<Input<'m>>,
    ) {
        let [red, green, blue] = material.emissive;
        match &material.emissive_texture {
            Some(texture) if material.emissive != [0.0; 3] => {
                self.connect(path, "color3f inputs:emissiveColor", "Emissive", "rgb");
                inputs.push(Input {
                    node: "Emissive",
                    file: self.images.name_of(texture.image),
                    texture,
                    is_srgb: true,
                    scale: [red, green, blue, 1.0],
                    bias: [0.0; 4],
                });
            }
            None if material.emissive != [0.0; 3] => {
                self.line(
                    2,
                    &format!("color3f inputs:emissiveColor = ({red}, {green}, {blue})"),
                );
            }
            _ => {}
        }
    }

    fn write_numbers<'m>(
        &mut self,
        path: &str,
        material: &'m Material,
        inputs: &mut Vec<Input<'m>>,
    ) {
        match &material.metallic_roughness_texture {
            Some(texture) => {
                self.connect(path, "float inputs:metallic", "MetallicRoughness", "b");
                self.connect(path, "float inputs:roughness", "MetallicRoughness", "g");
                inputs.push(Input {
                    node: "MetallicRoughness",
                    file: self.images.name_of(texture.image),
                    texture,
                    is_srgb: false,
                    scale: [1.0, material.roughness, material.metallic, 1.0],
                    bias: [0.0; 4],
                });
            }
            None => {
                self.set("metallic", material.metallic);
                self.set("roughness", material.roughness);
            }
        }
        if let Some(texture) = &material.occlusion_texture {
            self.connect(path, "float inputs:occlusion", "Occlusion", "r");
            let strength = material.occlusion_strength;
            inputs.push(Input {
                node: "Occlusion",
                file: self.images.name_of(texture.image),
                texture,
                is_srgb: false,
                scale: [strength, strength, strength, 1.0],
                bias: [1.0 - strength, 1.0 - strength, 1.0 - strength, 0.0],
            });
        }
    }

    /// Sets an input to a number.
    fn set(&mut self, input: &str, number: f32) {
        self.line(2, &format!("float inputs:{input} = {number}"));
    }

    fn connect(&mut self, path: &str, input: &str, node: &str, output: &str) {
        self.line(
            2,
            &format!("{input}.connect = <{path}/{node}.outputs:{output}>"),
        );
    }
}

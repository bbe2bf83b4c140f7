//! Materials, textures, colours and texture coordinates of USD.

use serde_json::{Value, json};

use super::super::texts::import_texts;
use super::{layer, read_one, square};
use crate::job::shapes::png;
use crate::log_lines::LogLines as _;

const COORDS: &str = "    texCoord2f[] primvars:st = [(0, 0), (1, 0), (0.25, 0.75)] (\n        interpolation = \"faceVarying\"\n    )\n    \
    int[] primvars:st:indices = [0, 1, 2, 0]\n";

fn bound(name: &str) -> String {
    format!("{COORDS}    rel material:binding = </{name}>\n")
}

/// A material whose surface has these inputs, and shaders beside it.
fn material(name: &str, inputs: &str, shaders: &str) -> String {
    format!(
        "def Material \"{name}\"\n{{\n    token outputs:surface.connect = </{name}/S.outputs:surface>\n    \
         def Shader \"S\"\n    {{\n        uniform token info:id = \"UsdPreviewSurface\"\n{inputs}\n        \
         token outputs:surface\n    }}\n{shaders}}}\n"
    )
}

/// A texture shader of the material `M` that reads a file.
fn texture(name: &str, file: &str, lines: &str) -> String {
    format!(
        "def Shader \"{name}\"\n{{\n    uniform token info:id = \"UsdUVTexture\"\n    asset inputs:file = @{file}@\n    \
         float2 inputs:st.connect = </M/Reader.outputs:result>\n{lines}\n    float3 outputs:rgb\n    float outputs:r\n    \
         float outputs:g\n    float outputs:b\n    float outputs:a\n}}\n"
    )
}

const READER: &str = "def Shader \"Reader\"\n{\n    uniform token info:id = \"UsdPrimvarReader_float2\"\n    \
    token inputs:varname = \"st\"\n    float2 outputs:result\n}\n";

#[test]
fn texture_coordinates_are_indexed_and_turned_over() {
    let scene = read_one(&square("M", COORDS)).scene;
    let geometry = &scene.geometries[0];
    let coords = geometry.attribute("TEXCOORD_0").unwrap();
    let at = |x: f32, y: f32| {
        let vertex = (0..4).find(|vertex| geometry.position(*vertex).to_array() == [x, y, 0.0]);
        coords.at(vertex.unwrap() as usize).to_vec()
    };
    assert_eq!(
        [at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)],
        [
            vec![0.0, 1.0],
            vec![1.0, 1.0],
            vec![0.25, 0.25],
            vec![0.0, 1.0]
        ]
    );
}

#[test]
fn surfaces_become_materials() {
    let inputs = "color3f inputs:diffuseColor = (0.5, 0.25, 0)\n float inputs:metallic = 1\n float inputs:roughness = 0.25\n \
        float inputs:opacity = 0.5\n color3f inputs:emissiveColor = (2, 1, 0)\n float inputs:clearcoat = 0.5\n float inputs:ior = 1.25";
    let body = format!(
        "{}{}",
        material("Gold", inputs, ""),
        square(
            "Q",
            &format!("{}    uniform bool doubleSided = 1", bound("Gold"))
        )
    );
    let imported = read_one(&body);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let expected = json!({
        "pbrMetallicRoughness": { "baseColorFactor": [0.5, 0.25, 0.0, 0.5], "roughnessFactor": 0.25, "metallicFactor": 1.0 },
        "alphaMode": "BLEND",
        "emissiveFactor": [1.0, 0.5, 0.0],
        "extensions": {
            "KHR_materials_emissive_strength": { "emissiveStrength": 2.0 },
            "KHR_materials_ior": { "ior": 1.25 },
            "KHR_materials_clearcoat": { "clearcoatFactor": 0.5, "clearcoatRoughnessFactor": 0.009_999_999_776_482_582 },
        },
        "name": "Gold",
        "doubleSided": true,
    });
    assert_eq!(imported.scene.list("materials"), [expected]);
    assert_eq!(imported.scene.list("extensionsUsed").len(), 3);
}

/// What is read of a material with textures.
struct Textured {
    material: Value,
    /// Bytes and names.
    images: Vec<(Vec<u8>, String)>,
    warnings: Vec<String>,
}

fn with_textures(inputs: &str, shaders: &str, files: &[(&str, Vec<u8>)]) -> Textured {
    let shaders = format!("{READER}{shaders}");
    let text = layer(&format!(
        "{}{}",
        material("M", inputs, &shaders),
        square("Q", &bound("M"))
    ));
    let mut all: Vec<(&str, &[u8])> = vec![("m.usda", text.as_bytes())];
    all.extend(files.iter().map(|(name, bytes)| (*name, bytes.as_slice())));
    let imported = import_texts(&all).unwrap();
    let images = imported.scene.images.iter().map(|image| {
        (
            image.bytes.to_vec(),
            image.file_name.clone().unwrap_or_default(),
        )
    });
    Textured {
        material: imported.scene.list("materials")[0].clone(),
        images: images.collect(),
        warnings: imported.warnings.lines(),
    }
}

#[test]
fn textures_keep_their_bytes_wraps_and_transforms() {
    let wood = png(4, |x, y| [x as u8 * 60, y as u8 * 60, 9, 255]);
    let inputs = "color3f inputs:diffuseColor.connect = </M/T.outputs:rgb>\n normal3f inputs:normal.connect = </M/N.outputs:rgb>";
    let lines = "    token inputs:wrapS = \"mirror\"\n    token inputs:wrapT = \"clamp\"\n    float4 inputs:scale = (0.5, 1, 1, 1)";
    let normal =
        "    float4 inputs:scale = (1, 1, 2, 1)\n    float4 inputs:bias = (-0.5, -0.5, -1, 0)";
    let shaders = format!(
        "{}{}",
        texture("T", "tex/wood.png", lines),
        texture("N", "./tex/bumps.png", normal).replace("/M/Reader.", "/M/Turn.")
    ) + "def Shader \"Turn\"\n{\n    uniform token info:id = \"UsdTransform2d\"\n    float2 inputs:in.connect = </M/Reader.outputs:result>\n    \
        float2 inputs:scale = (2, 2)\n    float2 inputs:translation = (0.5, 0)\n    float2 outputs:result\n}\n";
    let files = [
        ("tex/wood.png", wood.clone()),
        ("tex/bumps.png", png(2, |_, _| [128, 128, 255, 255])),
    ];
    let Textured {
        material: found,
        images,
        warnings,
    } = with_textures(inputs, &shaders, &files);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(images[0], (wood, "wood.png".to_owned()));
    assert_eq!(
        found["pbrMetallicRoughness"]["baseColorFactor"],
        json!([0.5, 1.0, 1.0, 1.0])
    );
    assert_eq!(
        found["pbrMetallicRoughness"]["baseColorTexture"],
        json!({ "index": 0 })
    );
    let normal = json!({
        "index": 1,
        "extensions": { "KHR_texture_transform": { "offset": [0.5, -1.0], "rotation": 0.0, "scale": [2.0, 2.0] } },
        "scale": 0.5,
    });
    assert_eq!(found["normalTexture"], normal);
}

#[test]
fn textures_that_are_black_outside_of_their_image_are_warnings() {
    let shader = texture("T", "wood.png", "    token inputs:wrapT = \"black\"");
    let wood = png(2, |_, _| [9, 9, 9, 255]);
    let inputs = "color3f inputs:diffuseColor.connect = </M/T.outputs:rgb>";
    let read = with_textures(inputs, &shader, &[("wood.png", wood)]);
    assert_eq!(
        read.warnings,
        [
            "the texture \"wood.png\" is black outside of its image (wrap mode `black`), which is not read; its border goes on there [not-read]"
        ]
    );
}

#[test]
fn channels_of_several_images_become_one_image() {
    let grey = |value: u8| png(2, move |_, _| [value, 0, 0, 255]);
    let inputs = "float inputs:roughness.connect = </M/R.outputs:r>\n float inputs:metallic.connect = </M/T.outputs:g>\n \
        color3f inputs:diffuseColor.connect = </M/T.outputs:rgb>\n float inputs:opacity.connect = </M/R.outputs:r>\n \
        float inputs:opacityThreshold = 0.25";
    let shaders = format!(
        "{}{}",
        texture("R", "rough.png", ""),
        texture("T", "colour.png", "")
    );
    let files = [
        ("rough.png", grey(60)),
        ("colour.png", png(2, |_, _| [10, 200, 30, 255])),
    ];
    let Textured {
        material: found,
        images,
        warnings,
    } = with_textures(inputs, &shaders, &files);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(
        (&found["alphaMode"], &found["alphaCutoff"]),
        (&json!("MASK"), &json!(0.25))
    );
    let pixel = |image: &Value| {
        let index = image["index"].as_u64().unwrap() as usize;
        let pixels = image::load_from_memory(&images[index].0)
            .unwrap()
            .into_rgba8();
        pixels.get_pixel(1, 1).0
    };
    let base = &found["pbrMetallicRoughness"];
    assert_eq!(pixel(&base["baseColorTexture"]), [10, 200, 30, 60]);
    assert_eq!(
        pixel(&base["metallicRoughnessTexture"]),
        [255, 60, 200, 255]
    );
}

#[test]
fn gloss_maps_become_roughness() {
    let gloss = "    float4 inputs:scale = (-1, 1, 1, 1)\n    float4 inputs:bias = (1, 0, 0, 0)";
    let turned = "    float4 inputs:scale = (2, -2, 2, 1)\n    float4 inputs:bias = (-1, 1, -1, 0)";
    let inputs = "float inputs:roughness.connect = </M/R.outputs:r>\n normal3f inputs:normal.connect = </M/N.outputs:rgb>";
    let shaders = format!(
        "{}{}",
        texture("R", "gloss.png", gloss),
        texture("N", "normal.png", turned)
    );
    let files = [
        ("gloss.png", png(2, |_, _| [60, 0, 0, 255])),
        ("normal.png", png(2, |_, _| [128, 128, 255, 255])),
    ];
    let Textured {
        material: found,
        images,
        warnings,
    } = with_textures(inputs, &shaders, &files);
    assert_eq!(
        warnings,
        [
            "material \"M\": the scale of its normal texture is unequal or negative (for example a flipped green channel); this is ignored [not-read]"
        ]
    );
    let base = &found["pbrMetallicRoughness"];
    assert_eq!(base["roughnessFactor"], json!(1.0));
    let index = base["metallicRoughnessTexture"]["index"].as_u64().unwrap() as usize;
    let pixels = image::load_from_memory(&images[index].0)
        .unwrap()
        .into_rgba8();
    assert_eq!(pixels.get_pixel(0, 0).0[1], 255 - 60);
}

#[test]
fn instances_have_materials_of_their_own() {
    let body = format!(
        "{}{}class Xform \"P\"\n{{\n{}}}\n{}{}{}",
        material("A", "", ""),
        material("B", "", ""),
        square("Q", ""),
        instance("One", "A"),
        instance("Two", "B"),
        instance("Three", "A"),
    );
    let scene = read_one(&body).scene;
    assert_eq!((scene.drawn_triangles(), scene.meshes.len()), (6, 2));
    let names = scene.list("materials").iter().map(|it| it["name"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), [Some("A"), Some("B")]);
}

fn instance(name: &str, material: &str) -> String {
    format!(
        "def Xform \"{name}\" (\n instanceable = true\n inherits = </P>\n)\n{{\n rel material:binding = </{material}>\n}}\n"
    )
}

#[test]
fn missing_and_refused_textures_are_left_out_with_a_reason() {
    for (asset, reason) in [
        ("none.png", "it is not among the uploaded files"),
        ("../secret.png", "its path leads out of the upload"),
        ("/etc/secret.png", "its path leads out of the upload"),
    ] {
        let inputs = "color3f inputs:diffuseColor.connect = </M/T.outputs:rgb>";
        let Textured {
            material: found,
            images,
            warnings,
        } = with_textures(inputs, &texture("T", asset, ""), &[]);
        assert_eq!(
            warnings,
            [format!(
                "the texture \"{asset}\" is left out: {reason} [missing-file]"
            )]
        );
        assert!(
            images.is_empty()
                && found["pbrMetallicRoughness"]
                    .get("baseColorTexture")
                    .is_none()
        );
    }
}

/// The red, green and blue of the first pixel of a texture of a material.
fn first_pixel(read: &Textured, texture: &Value) -> [u8; 3] {
    let image = &read.images[texture["index"].as_u64().unwrap() as usize].0;
    let pixels = image::load_from_memory(image).unwrap().into_rgb8();
    pixels.get_pixel(0, 0).0
}

const ROUGH_AND_METAL: &str = "float inputs:roughness.connect = </M/R.outputs:r>\n float inputs:metallic.connect = </M/T.outputs:r>";

#[test]
fn missing_textures_have_their_fallback_or_the_default_of_the_surface() {
    let shaders = |fallback: &str| {
        let texture = |name, file| texture(name, file, fallback);
        format!("{}{}", texture("R", "rough.png"), texture("T", "metal.png"))
    };
    let factors = |found: &Textured| {
        let base = &found.material["pbrMetallicRoughness"];
        ["roughnessFactor", "metallicFactor"].map(|key| base[key].as_f64().unwrap())
    };
    let fallback = "    float4 inputs:fallback = (0.25, 0, 0, 1)";
    let rough = [("rough.png", png(2, |_, _| [60, 0, 0, 255]))];
    let damaged = [("rough.png", b"\x89PNG\r\n\x1a\nno".to_vec())];
    for (fallback, files, expected) in [
        ("", &[][..], [0.5, 0.0]),
        (fallback, &[][..], [0.25, 0.25]),
        ("", &rough[..], [1.0, 0.0]),
        (fallback, &rough[..], [1.0, 0.25]),
        ("", &damaged[..], [0.5, 0.0]),
    ] {
        let found = with_textures(ROUGH_AND_METAL, &shaders(fallback), files);
        assert_eq!(factors(&found), expected, "{fallback} {}", files.len());
        assert!(!found.warnings.is_empty());
    }
}

#[test]
fn images_are_converted_to_the_colour_space_that_gltf_has() {
    let inputs = "color3f inputs:diffuseColor.connect = </M/C.outputs:rgb>\n float inputs:roughness.connect = </M/R.outputs:g>";
    let read = |space: &str| {
        let space = format!("    token inputs:sourceColorSpace = \"{space}\"");
        let shaders = format!(
            "{}{}",
            texture("C", "a.png", &space),
            texture("R", "a.png", &space)
        );
        let files = [("a.png", png(2, |_, _| [128, 128, 0, 255]))];
        let read = with_textures(inputs, &shaders, &files);
        let base = read.material["pbrMetallicRoughness"].clone();
        let [colour, rough] = ["baseColorTexture", "metallicRoughnessTexture"]
            .map(|key| first_pixel(&read, &base[key]));
        (colour[0], rough[1])
    };
    assert_eq!(read("auto"), (128, 128));
    assert_eq!(read("raw"), (188, 128));
    assert_eq!(read("sRGB"), (128, 55));
}

#[test]
fn a_scale_of_occlusion_is_no_strength() {
    let read = |lines: &str| {
        let inputs = "float inputs:occlusion.connect = </M/O.outputs:r>";
        let files = [("o.png", png(2, |_, _| [100, 0, 0, 255]))];
        let read = with_textures(inputs, &texture("O", "o.png", lines), &files);
        let texture = &read.material["occlusionTexture"];
        (first_pixel(&read, texture)[0], texture["strength"].as_f64())
    };
    assert_eq!(read("    float4 inputs:scale = (0.5, 1, 1, 1)"), (50, None));
    let strength =
        "    float4 inputs:scale = (0.5, 1, 1, 1)\n    float4 inputs:bias = (0.5, 0, 0, 0)";
    assert_eq!(read(strength), (100, Some(0.5)));
}

#[test]
fn what_is_not_read_of_a_surface_is_a_warning() {
    let inputs = [
        "clearcoatRoughness",
        "ior",
        "opacityThreshold",
        "displacement",
    ]
    .map(|name| format!("float inputs:{name}.connect = </M/T.outputs:r>\n"));
    let inputs = format!(
        "{}color3f inputs:diffuseColor.connect = </M/T.outputs:rgb>\n float inputs:opacity.connect = </M/A.outputs:a>\n \
         int inputs:useSpecularWorkflow = 1",
        inputs.concat()
    );
    let shaders = format!(
        "{}{}",
        texture("T", "a.png", ""),
        texture("A", "a.png", "    token inputs:wrapS = \"clamp\"")
    );
    let files = [("a.png", png(2, |_, _| [128, 128, 0, 255]))];
    let expected = [
        "uses the specular workflow (specularColor), which is not read; it is treated as non-metallic",
        "its clearcoatRoughness texture is not read",
        "its ior texture is not read",
        "its opacityThreshold texture is not read",
        "its displacement texture is not read",
        "its textures of colour and opacity use different texture coordinates, transforms or wrap modes; glTF has one texture for both, so those of colour are used",
    ];
    let found = with_textures(&inputs, &shaders, &files).warnings;
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        let expected = format!("{expected} [not-read]");
        assert!(found.ends_with(&expected), "{found}");
    }
}

#[test]
fn subsets_have_materials_of_their_own() {
    let mesh = "def Mesh \"M\"\n{\n int[] faceVertexCounts = [3, 3, 3]\n int[] faceVertexIndices = [0, 1, 2, 0, 2, 3, 0, 3, 4]\n \
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 2, 0), (-1, 1, 0)]\n rel material:binding = </A>\n \
        def GeomSubset \"part\"\n{\n uniform token elementType = \"face\"\n uniform token familyName = \"materialBind\"\n \
        int[] indices = [2, 0]\n rel material:binding = </B>\n}\n}\n";
    let body = format!("{}{}{mesh}", material("A", "", ""), material("B", "", ""));
    let scene = read_one(&body).scene;
    let parts: Vec<(usize, &str)> = scene.meshes[0]
        .primitives
        .iter()
        .map(|part| {
            let triangles = scene.geometries[part.geometry].triangle_count();
            let name = scene.list("materials")[part.material.unwrap()]["name"]
                .as_str()
                .unwrap();
            (triangles, name)
        })
        .collect();
    assert_eq!(parts, [(1, "A"), (2, "B")]);
}

#[test]
fn subsets_of_other_families_take_no_faces() {
    let subset = |name: &str, lines: &str| {
        format!(
            "def GeomSubset \"{name}\"\n{{\n uniform token elementType = \"face\"\n{lines}\n}}\n"
        )
    };
    let picked = " uniform token familyName = \"pick\"\n int[] indices = [0, 1]";
    let bound = "int[] indices = [1]\n rel material:binding = </B>";
    for family in ["", " uniform token familyName = \"materialBind\"\n "] {
        let mesh = format!(
            "def Mesh \"M\"\n{{\n int[] faceVertexCounts = [3, 3]\n int[] faceVertexIndices = [0, 1, 2, 0, 2, 3]\n \
             point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n rel material:binding = </A>\n{}{}}}\n",
            subset("picked", picked),
            subset("part", &format!("{family}{bound}")),
        );
        let body = format!("{}{}{mesh}", material("A", "", ""), material("B", "", ""));
        let scene = read_one(&body).scene;
        let names = scene.meshes[0].primitives.iter().map(|part| {
            scene.list("materials")[part.material.unwrap()]["name"]
                .as_str()
                .unwrap()
        });
        assert_eq!(names.collect::<Vec<_>>(), ["A", "B"], "{family}");
    }
}

#[test]
fn images_of_one_name_in_different_folders_stay_apart() {
    let inputs = "float inputs:roughness.connect = </M/R.outputs:r>\n float inputs:metallic.connect = </M/T.outputs:r>";
    let shaders = format!(
        "{READER}{}{}",
        texture("R", "./rough.png", ""),
        texture("T", "./metal.png", "")
    );
    let part = layer(&format!(
        "def Xform \"A\"\n{{\n{}{}}}\n",
        material("M", inputs, &shaders).replace("</M/", "</A/M/"),
        square("Q", &bound("A/M"))
    ));
    let root = layer(
        "def \"C\" (references = @chair/a.usda@</A>)\n{\n}\ndef \"T\" (references = @table/a.usda@</A>)\n{\n}\n",
    );
    let grey = |value: u8| png(2, move |_, _| [value, 0, 0, 255]);
    let (one, two, three, four) = (grey(10), grey(20), grey(30), grey(40));
    let imported = import_texts(&[
        ("m.usda", root.as_bytes()),
        ("chair/a.usda", part.as_bytes()),
        ("chair/rough.png", &one),
        ("chair/metal.png", &two),
        ("table/a.usda", part.as_bytes()),
        ("table/rough.png", &three),
        ("table/metal.png", &four),
    ])
    .unwrap();
    let pixels = imported.scene.images.iter().map(|image| {
        let pixels = image::load_from_memory(&image.bytes).unwrap().into_rgba8();
        pixels.get_pixel(0, 0).0
    });
    assert_eq!(
        pixels.collect::<Vec<_>>(),
        [[255, 10, 20, 255], [255, 30, 40, 255]]
    );
}

#[test]
fn the_strongest_binding_wins() {
    let parent = |lines: &str, own: &str| {
        let mesh = square("M", own);
        let body = format!(
            "{}{}def Xform \"X\"\n{{\n{lines}\n{mesh}}}\n",
            material("A", "", ""),
            material("B", "", "")
        );
        let scene = read_one(&body).scene;
        scene.list("materials")[0]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let own = "    rel material:binding = </B>";
    assert_eq!(parent(" rel material:binding = </A>", ""), "A");
    assert_eq!(parent(" rel material:binding = </A>", own), "B");
    let strong = " rel material:binding = </A> (\n bindMaterialAs = \"strongerThanDescendants\"\n)";
    assert_eq!(parent(strong, own), "A");
    let collection = " uniform token collection:all:expansionRule = \"expandPrims\"\n rel collection:all:includes = </X/M>\n \
        rel material:binding:collection:all = [</X.collection:all>, </A>]";
    assert_eq!(parent(collection, ""), "A");
}

#[test]
fn colours_of_points_are_read_where_the_material_shows_them() {
    let colours = "    color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)] (\n        interpolation = \"vertex\"\n    )\n";
    let has_colours = |body: &str| {
        let scene = read_one(body).scene;
        scene.geometries[0]
            .attribute("COLOR_0")
            .map(|it| it.values[..4].to_vec())
    };
    assert_eq!(
        has_colours(&square("M", colours)),
        Some(vec![1.0, 0.0, 0.0, 1.0])
    );
    let plain = material("A", "color3f inputs:diffuseColor = (1, 1, 1)", "");
    let shown = material(
        "A",
        "color3f inputs:diffuseColor.connect = </A/C.outputs:result>",
        "def Shader \"C\"\n{\n uniform token info:id = \"UsdPrimvarReader_float3\"\n string inputs:varname = \"displayColor\"\n float3 outputs:result\n}\n",
    );
    let mesh = square("M", &format!("{colours}    rel material:binding = </A>"));
    assert_eq!(has_colours(&format!("{plain}{mesh}")), None);
    assert_eq!(
        has_colours(&format!("{shown}{mesh}")),
        Some(vec![1.0, 0.0, 0.0, 1.0])
    );
}

#[test]
fn other_surfaces_are_plain_with_a_warning() {
    let body =
        material("M", "", "").replace("UsdPreviewSurface", "ND_standard_surface_surfaceshader");
    let imported = read_one(&format!("{body}{}", square("Q", &bound("M"))));
    let warning = "material \"M\" has a surface of the kind ND_standard_surface_surfaceshader; only UsdPreviewSurface is read, and a plain one is taken [not-read]";
    assert_eq!(imported.warnings.lines(), [warning]);
    assert_eq!(imported.scene.list("materials")[0]["name"], "M");
}

#[test]
fn colours_come_from_the_nearest_parent_that_has_one() {
    let colour = |triple: &str| format!("    color3f[] primvars:displayColor = [{triple}]\n");
    let body = format!(
        "def Xform \"X\"\n{{\n{}    float[] primvars:displayOpacity = [0.5]\n    def Xform \"Y\"\n    {{\n{}{}    }}\n{}{}    \
         def Cube \"D\"\n    {{\n    }}\n}}\n{}",
        colour("(1, 0, 0)"),
        colour("(0, 1, 0)"),
        square("A", ""),
        square("B", ""),
        square("C", &colour("(0, 0, 1)")),
        square("E", ""),
    );
    let scene = read_one(&body).scene;
    let found: Vec<_> = scene
        .meshes
        .iter()
        .map(|mesh| {
            let geometry = &scene.geometries[mesh.primitives[0].geometry];
            let colors = geometry.attribute("COLOR_0");
            (
                mesh.name().unwrap(),
                colors.map(|it| it.values[..4].to_vec()),
            )
        })
        .collect();
    let half = |[red, green, blue]: [f32; 3]| Some(vec![red, green, blue, 0.5]);
    assert_eq!(
        found,
        [
            ("A", half([0.0, 1.0, 0.0])),
            ("B", half([1.0, 0.0, 0.0])),
            ("C", half([0.0, 0.0, 1.0])),
            ("D", half([1.0, 0.0, 0.0])),
            ("E", None),
        ]
    );
}

#[test]
fn instances_have_the_colours_of_their_places() {
    let place = |name: &str, colour: &str| {
        format!(
            "def Xform \"{name}\" (\n instanceable = true\n inherits = </P>\n)\n{{\n \
             color3f[] primvars:displayColor = [{colour}]\n}}\n"
        )
    };
    let body = format!(
        "class Xform \"P\"\n{{\n{}}}\n{}{}{}",
        square("Q", ""),
        place("One", "(1, 0, 0)"),
        place("Two", "(0, 1, 0)"),
        place("Three", "(1, 0, 0)"),
    );
    let scene = read_one(&body).scene;
    assert_eq!((scene.drawn_triangles(), scene.meshes.len()), (6, 2));
}

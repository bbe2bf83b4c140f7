//! FBX, USD and glTF.

use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::settings::MeshCompression;
use serde_json::json;

use super::super::fbx::{SQUARE_CONNECTIONS, fbx, one_pixel_png, square_with_coordinates};
use super::super::texts::import_texts;
use super::{Upload, no_row_is_silent};
use crate::log_lines::LogLines as _;
use crate::square_glb::changed_glb;

fn fbx_file(objects: &str, connections: &str) -> Upload {
    let square = square_with_coordinates();
    let file = fbx(
        &format!("{square}{objects}"),
        &format!("{SQUARE_CONNECTIONS}{connections}"),
    );
    vec![
        ("m.fbx".to_owned(), file),
        ("a.png".to_owned(), one_pixel_png()),
    ]
}

#[test]
fn every_texture_slot_of_an_fbx_is_read_or_named() {
    let texture = "\n\tTexture: 4000, \"Texture::a\", \"\" {\n\t\tType: \"TextureVideoClip\"\n\t\tVersion: 202\n\t\t\
        FileName: \"a.png\"\n\t\tRelativeFilename: \"a.png\"\n\t}\n";
    let slots = [
        "DiffuseColor",
        "DiffuseFactor",
        "NormalMap",
        "Bump",
        "BumpFactor",
        "EmissiveColor",
        "EmissiveFactor",
        "SpecularColor",
        "SpecularFactor",
        "ShininessExponent",
        "AmbientColor",
        "AmbientFactor",
        "ReflectionColor",
        "ReflectionFactor",
        "TransparentColor",
        "TransparencyFactor",
        "DisplacementColor",
        "VectorDisplacementColor",
        "Maya|TEX_ao_map",
        "3dsMax|Parameters|coat_map",
        "own",
    ];
    let plain = fbx_file(texture, "");
    no_row_is_silent(slots.into_iter().map(|slot| {
        let connection = format!("\n\tC: \"OP\",4000,3000, \"{slot}\"");
        (
            slot.to_owned(),
            plain.clone(),
            fbx_file(texture, &connection),
        )
    }));
}

#[test]
fn every_type_of_object_of_an_fbx_is_read_or_named() {
    let of_node = |kind: &str| {
        format!(
            "\n\tNodeAttribute: 5000, \"NodeAttribute::n\", \"{kind}\" {{\n\t}}\n\tModel: 5001, \"Model::n\", \"{kind}\" {{\n\t\tVersion: 232\n\t}}\n"
        )
    };
    let joined = "\n\tC: \"OO\",5001,0\n\tC: \"OO\",5000,5001";
    let nodes = [
        ("Light", "lights"),
        ("Camera", "cameras"),
        ("CameraStereo", "stereo cameras"),
        ("LodGroup", "levels of detail"),
    ];
    let nodes = nodes.map(|(kind, name)| (name.to_owned(), of_node(kind), joined));
    let alone = |line: &str| format!("\n\t{line} {{\n\t}}\n");
    let others = [
        (
            "constraints",
            "Constraint: 5000, \"Constraint::c\", \"Position From Positions\"",
        ),
        (
            "characters",
            "Constraint: 5000, \"Constraint::c\", \"Character\"",
        ),
        ("unknown types", "Own: 5000, \"Own::o\", \"Thing\""),
    ];
    let others = others.map(|(name, line)| (name.to_owned(), alone(line), ""));
    let plain_node =
        "\n\tModel: 5001, \"Model::n\", \"Null\" {\n\t\tVersion: 232\n\t}\n".to_owned();
    let plain = fbx_file(&plain_node, "\n\tC: \"OO\",5001,0");
    let empty = fbx_file("", "");
    let rows = nodes.into_iter().chain(others);
    no_row_is_silent(rows.map(|(name, objects, connections)| {
        let without = if connections.is_empty() {
            &empty
        } else {
            &plain
        };
        (name, without.clone(), fbx_file(&objects, connections))
    }));
}

fn usda(mesh: &str, more: &str) -> Upload {
    let text = format!(
        "#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\ndef Mesh \"m\" (\n    prepend apiSchemas = [\"MaterialBindingAPI\"]\n)\n{{\n    \
         int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 2]\n    uniform token subdivisionScheme = \"none\"\n    \
         point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n{mesh}}}\n{more}"
    );
    vec![("m.usda".to_owned(), text.into_bytes())]
}

#[test]
fn every_type_of_prim_is_read_or_named() {
    let plain = usda("", "");
    let kinds = [
        "BasisCurves",
        "HermiteCurves",
        "NurbsCurves",
        "NurbsPatch",
        "Points",
        "TetMesh",
        "Volume",
        "OpenVDBAsset",
        "Field3DAsset",
        "Camera",
        "SphereLight",
        "DomeLight",
        "DomeLight_1",
        "RectLight",
        "DistantLight",
        "CylinderLight",
        "DiskLight",
        "GeometryLight",
        "PortalLight",
        "PluginLight",
        "LightFilter",
        "PhysicsScene",
        "PhysicsJoint",
        "PhysicsFixedJoint",
        "PhysicsCollisionGroup",
        "SpatialAudio",
        "RenderSettings",
        "RenderProduct",
        "RenderVar",
        "RenderPass",
        "Backdrop",
        "GenerativeProcedural",
        "ParticleField3DGaussianSplat",
        "Preliminary_Text",
        "Preliminary_Behavior",
        "Capsule_1",
        "Cylinder_1",
        "Cube",
        "Sphere",
        "Cylinder",
        "Cone",
        "Capsule",
        "Plane",
        "Own",
    ];
    no_row_is_silent(kinds.into_iter().map(|kind| {
        let more = format!("def {kind} \"more\"\n{{\n}}\n");
        (kind.to_owned(), plain.clone(), usda("", &more))
    }));
}

#[test]
fn every_property_of_a_mesh_is_read_or_named() {
    let plain = usda("", "");
    let lines = [
        (
            "normals",
            "normal3f[] normals = [(1, 0, 0), (1, 0, 0), (1, 0, 0)]",
        ),
        ("holeIndices", "int[] holeIndices = [0]"),
        ("orientation", "uniform token orientation = \"leftHanded\""),
        ("doubleSided", "uniform bool doubleSided = 1"),
        (
            "velocities",
            "vector3f[] velocities = [(1, 0, 0), (1, 0, 0), (1, 0, 0)]",
        ),
        (
            "accelerations",
            "vector3f[] accelerations = [(1, 0, 0), (1, 0, 0), (1, 0, 0)]",
        ),
        (
            "primvars:st",
            "texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)] (interpolation = \"vertex\")",
        ),
        (
            "primvars:displayColor",
            "color3f[] primvars:displayColor = [(1, 0, 0)]",
        ),
        (
            "primvars:displayOpacity",
            "float[] primvars:displayOpacity = [0.5]",
        ),
        (
            "primvars:heat",
            "float[] primvars:heat = [1, 2, 3] (interpolation = \"vertex\")",
        ),
        ("primvars:way", "float3[] primvars:way = [(1, 2, 3)]"),
        ("physics:*", "float physics:density = 5"),
        (
            "userProperties:*",
            "custom string userProperties:maker = \"me\"",
        ),
        ("own", "custom float own = 5"),
        (
            "points",
            "point3f[] points.timeSamples = { 0: [(0, 0, 0), (1, 0, 0), (0, 1, 0)], 1: [(0, 0, 1), (1, 0, 1), (0, 1, 1)] }",
        ),
        (
            "primvars:displayColor",
            "color3f[] primvars:displayColor.timeSamples = { 0: [(1, 0, 0)], 1: [(0, 1, 0)] }",
        ),
        (
            "xformOp:translate",
            "double3 xformOp:translate = (1, 2, 3)\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]",
        ),
        (
            "visibility",
            "token visibility.timeSamples = { 0: \"inherited\", 1: \"invisible\" }",
        ),
    ];
    no_row_is_silent(lines.into_iter().map(|(name, line)| {
        let line = format!("    {line}\n");
        (name.to_owned(), plain.clone(), usda(&line, ""))
    }));
}

#[test]
fn every_input_of_a_preview_surface_is_read_or_named() {
    let binding = "    rel material:binding = </mat>\n";
    let material = |input: &str| {
        format!(
            "def Material \"mat\"\n{{\n    token outputs:surface.connect = </mat/s.outputs:surface>\n    def Shader \"s\"\n    {{\n        \
             uniform token info:id = \"UsdPreviewSurface\"\n        token outputs:surface\n{input}    }}\n}}\n"
        )
    };
    let plain = usda(binding, &material(""));
    let inputs = [
        ("diffuseColor", "color3f inputs:diffuseColor = (1, 0, 0)"),
        ("emissiveColor", "color3f inputs:emissiveColor = (1, 0, 0)"),
        ("metallic", "float inputs:metallic = 0.7"),
        ("roughness", "float inputs:roughness = 0.2"),
        ("opacity", "float inputs:opacity = 0.2"),
        ("clearcoat", "float inputs:clearcoat = 0.2"),
        ("ior", "float inputs:ior = 1.2"),
        ("displacement", "float inputs:displacement = 0.2"),
        (
            "specularColor",
            "color3f inputs:specularColor = (1, 0, 0)\n        int inputs:useSpecularWorkflow = 1",
        ),
        ("opacityMode", "token inputs:opacityMode = \"presence\""),
        ("own", "float inputs:own = 0.2"),
        (
            "roughness",
            "float inputs:roughness.timeSamples = { 0: 0.5, 1: 0.9 }",
        ),
    ];
    no_row_is_silent(inputs.into_iter().map(|(name, input)| {
        let input = format!("        {input}\n");
        (
            name.to_owned(),
            plain.clone(),
            usda(binding, &material(&input)),
        )
    }));
}

#[test]
fn every_extension_of_a_gltf_passes_through_or_is_named() {
    let known = [
        "EXT_mesh_features",
        "EXT_structural_metadata",
        "KHR_materials_anisotropy",
        "KHR_materials_clearcoat",
        "KHR_materials_diffuse_transmission",
        "KHR_materials_dispersion",
        "KHR_materials_emissive_strength",
        "KHR_materials_ior",
        "KHR_materials_iridescence",
        "KHR_materials_sheen",
        "KHR_materials_specular",
        "KHR_materials_transmission",
        "KHR_materials_unlit",
        "KHR_materials_volume",
    ];
    let others = [
        "KHR_animation_pointer",
        "KHR_audio_emitter",
        "KHR_gaussian_splatting",
        "KHR_interactivity",
        "KHR_node_visibility",
        "KHR_physics_rigid_bodies",
        "MSFT_lod",
        "MSFT_packing_occlusionRoughnessMetallic",
        "ADOBE_materials_clearcoat_tint",
        "AGI_articulations",
        "CESIUM_primitive_outline",
        "FB_geometry_metadata",
        "GODOT_single_root",
        "MPEG_media",
        "NV_materials_mdl",
        "VRMC_vrm",
        "OWN_thing",
    ];
    let with = |name: &str| {
        let bytes = changed_glb(|json| {
            json["materials"] = json!([{ "extensions": { name: { "own": 1 } } }]);
            json["meshes"][0]["primitives"][0]["material"] = 0.into();
            json["extensionsUsed"] = json!([name]);
        });
        import_texts(&[("m.glb", &bytes)]).unwrap()
    };
    for name in known {
        let imported = with(name);
        let written = write_glb(&imported.scene, MeshCompression::None).unwrap();
        let passes = written
            .windows(name.len())
            .any(|part| part == name.as_bytes());
        assert!(
            passes && imported.warnings.is_empty(),
            "{name}: {:?}",
            imported.warnings.lines()
        );
    }
    for name in others {
        let warnings = with(name).warnings.lines();
        assert!(
            warnings.iter().any(|line| line.contains(name)),
            "{name}: {warnings:?}"
        );
    }
}

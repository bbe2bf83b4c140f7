//! The FBX that we write, as Blender reads it.

use std::process::Command;

use serde_json::{Value, json};

use super::gltf::Model;
use super::shapes::{bar, png, textured};
use crate::skip::has_program_or_skips;

/// Prints triangles, materials, images with pixels (Blender loads one twice), bones, actions and vertex groups as JSON.
const SCRIPT: &str = "
import bpy, json, sys
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.fbx(filepath=sys.argv[-1])
meshes = [it for it in bpy.context.scene.objects if it.type == 'MESH']
for it in meshes: it.data.calc_loop_triangles()
armatures = [it for it in bpy.context.scene.objects if it.type == 'ARMATURE']
counts = {
    'triangles': sum(len(it.data.loop_triangles) for it in meshes),
    'materials': sorted(it.name for it in bpy.data.materials),
    'images': len({it.filepath for it in bpy.data.images if it.packed_file or it.has_data or it.size[0] > 0}),
    'bones': sum(len(it.data.bones) for it in armatures),
    'groups': sum(len(it.vertex_groups) for it in meshes),
    'actions': len(bpy.data.actions),
    'keys': sum(len(it.data.shape_keys.key_blocks) for it in meshes if it.data.shape_keys),
    'height': max((it.matrix_world @ vertex.co).z for it in meshes for vertex in it.data.vertices),
}
print('COUNTS' + json.dumps(counts))
";

fn counted_by_blender(model: &Model) -> Value {
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "fbx" }] } }))
        .unwrap();
    let ran = Command::new("blender")
        .args([
            "--background",
            "--factory-startup",
            "--python-exit-code",
            "1",
        ])
        .args(["--python-expr", SCRIPT, "--"])
        .arg(model.dir.path().join("out/exports/model.fbx"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&ran.stderr).into_owned();
    let counts = said.lines().find_map(|line| line.strip_prefix("COUNTS"));
    let counts = counts.unwrap_or_else(|| panic!("{said}{complaint}"));
    serde_json::from_str(counts).unwrap()
}

#[test]
fn blender_reads_meshes_materials_skins_and_clips_of_an_fbx() {
    if !has_program_or_skips("blender") {
        return;
    }
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let material =
        json!({ "name": "Wood", "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
    let found = counted_by_blender(&textured(material, &[("wood.png", colour)]));
    assert_eq!(
        (&found["triangles"], &found["images"]),
        (&json!(2), &json!(1)),
        "{found}"
    );
    assert_eq!(found["materials"], json!(["Wood"]), "{found}");
    let found = counted_by_blender(&bar());
    assert_eq!(found["triangles"], 640, "{found}");
    assert_eq!(
        (&found["bones"], &found["groups"]),
        (&json!(2), &json!(2)),
        "{found}"
    );
    assert_eq!(
        (&found["actions"], &found["keys"]),
        (&json!(1), &json!(2)),
        "{found}"
    );
    // Ten metres, although the file is in centimetres for those who ask.
    assert!(
        (found["height"].as_f64().unwrap() - 10.0).abs() < 1e-3,
        "{found}"
    );
}

//! The recipe for Blender, run by Blender without a window.

use super::{Recipe, Workplace, write};
use crate::support::exists;
use crate::{needs_fuse, needs_program};

/// A scene with two objects of its own.
const SCENE: &str = r#"
import bpy
bpy.ops.mesh.primitive_uv_sphere_add(location=(3, 0, 0))
bpy.ops.wm.save_as_mainfile(filepath="SCENE")
"#;
/// What is in a scene.
const COUNT: &str = "import bpy; print('MESHES', sum(o.type == 'MESH' for o in bpy.data.objects))";

#[test]
fn blender_exports_a_scene_and_imports_the_optimized_model() {
    needs_fuse!();
    needs_program!("blender");
    let recipe = Recipe::named("Blender");
    let [to_drive, from_drive] = recipe.files(["to_drive.py", "from_drive.py"]);
    let [commands] = recipe.commands();
    let workplace = Workplace::new();
    write(&workplace.work("to_drive.py"), to_drive);
    write(&workplace.work("from_drive.py"), from_drive);
    let scene = workplace.work("chair.blend");
    let make = SCENE.replace("SCENE", scene.to_str().unwrap());
    write(&workplace.work("scene.py"), &make);
    workplace.run("blender --background --factory-startup --python-exit-code 1 --python scene.py");
    workplace.run(commands);
    assert!(exists(workplace.drive("rawmodels/chair/chair.glb")));
    assert_eq!(workplace.totals(), (1, 1));
    let count = format!("blender chair-optimized.blend --background --python-expr \"{COUNT}\"");
    let said = workplace.run(&count);
    assert!(said.contains("MESHES 2"), "{said}");
    // The name is taken now, and nothing is sent.
    let again = commands.lines().next().unwrap();
    let said = workplace.fails(&format!("{again} >&2"), 1);
    assert!(said.contains("FileExistsError"), "{said}");
    assert_eq!(workplace.totals(), (1, 1));
}

"""Imports a model into an empty scene of Blender and takes a picture of it.

    blender --background --factory-startup --python viewers_blender.py -- FILE PICTURE
"""
import sys

import bpy
from mathutils import Vector

path, picture = sys.argv[sys.argv.index("--") + 1 :]
bpy.ops.wm.read_factory_settings(use_empty=True)
kind = path.rsplit(".", 1)[1].lower()
importers = {
    "glb": lambda: bpy.ops.import_scene.gltf(filepath=path),
    "gltf": lambda: bpy.ops.import_scene.gltf(filepath=path),
    "fbx": lambda: bpy.ops.import_scene.fbx(filepath=path),
    "obj": lambda: bpy.ops.wm.obj_import(filepath=path),
    # Blender before 4.1 has only the importer in Python.
    "stl": lambda: (bpy.ops.wm.stl_import if hasattr(bpy.types, "WM_OT_stl_import") else bpy.ops.import_mesh.stl)(filepath=path),
    "ply": lambda: bpy.ops.wm.ply_import(filepath=path),
    "usdz": lambda: bpy.ops.wm.usd_import(filepath=path),
}
importers[kind]()
meshes = [thing for thing in bpy.context.scene.objects if thing.type == "MESH"]
if not meshes:
    print("NOT READ: no meshes")
    sys.exit(1)
bpy.context.view_layer.update()
corners = [thing.matrix_world @ Vector(corner) for thing in meshes for corner in thing.bound_box]
low, high = (Vector(pick(corner[axis] for corner in corners) for axis in range(3)) for pick in (min, max))
center, size = (low + high) / 2, (high - low).length
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
camera.data.clip_start, camera.data.clip_end = size / 1000, size * 100
camera.location = center + Vector((0.8, -1, 0.5)).normalized() * size * 1.7
camera.rotation_euler = (center - camera.location).to_track_quat("-Z", "Y").to_euler()
sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy = 3
scene = bpy.context.scene
for thing in (camera, sun):
    scene.collection.objects.link(thing)
scene.camera = camera
scene.render.engine = "CYCLES"
scene.cycles.samples = 8
scene.cycles.use_denoising = False
scene.render.resolution_x = scene.render.resolution_y = 512
scene.render.filepath = picture
bpy.ops.render.render(write_still=True)

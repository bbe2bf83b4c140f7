"""Renders glTF models with Cycles, all with the cameras and lights of the first one. Run by `scripts/bench/engine --rebake
--judge`:

  blender --background --python scripts/bench/judge_in_blender.py -- OUT SOURCE RESULT...

OUT gets VIEW-0.png of the source, VIEW-1.png of the first result and so on. Seed and samples are fixed and nothing is
denoised, so the noise of two equal models is equal.
"""

import sys
from pathlib import Path

import bpy
import numpy
from mathutils import Vector

SIDE = 320
SAMPLES = 16
# From the model to the camera; z is up in Blender, and glTF's front is -y.
CAMERAS = {"front": (0.35, -1.0, 0.25), "right": (1.0, 0.3, 0.1), "back": (-0.45, 1.0, 0.4), "left": (-1.0, -0.35, -0.3)}

# The importer of Blender 3.4 uses names that newer versions of numpy have removed.
for name, kind in (("bool", bool), ("float", float), ("int", int)):
    if name not in numpy.__dict__:
        setattr(numpy, name, kind)


def main():
    out, *models = sys.argv[sys.argv.index("--") + 1:]
    bounds = None
    for number, model in enumerate(models):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.import_scene.gltf(filepath=model)
        bounds = bounds or bounds_of_scene()
        prepare()
        light(*bounds)
        for name, direction in CAMERAS.items():
            look(*bounds, Vector(direction).normalized())
            bpy.context.scene.render.filepath = str(Path(out) / f"{name}-{number}.png")
            bpy.ops.render.render(write_still=True)


def bounds_of_scene():
    """The middle of the model and half of its diagonal."""
    corners = [item.matrix_world @ Vector(corner) for item in bpy.context.scene.objects if item.type == "MESH"
               for corner in item.bound_box]
    low, high = (Vector(pick(corner[axis] for corner in corners) for axis in range(3)) for pick in (min, max))
    return (low + high) / 2, (high - low).length / 2


def prepare():
    scene = bpy.context.scene
    for item in [item for item in scene.objects if item.type in ("LIGHT", "CAMERA")]:
        bpy.data.objects.remove(item)
    scene.render.engine = "CYCLES"
    scene.render.resolution_x = scene.render.resolution_y = SIDE
    scene.render.resolution_percentage = 100
    scene.cycles.samples = SAMPLES
    scene.cycles.seed = 0
    scene.cycles.use_adaptive_sampling = False
    scene.cycles.use_denoising = False
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.color_mode = "RGB"


def light(middle, radius):
    """An even sky, a sun over the left shoulder of the front view and a large lamp opposite."""
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.5, 0.52, 0.56, 1)
    bpy.context.scene.world = world
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle = 2.5, 0.1
    lamp = bpy.data.lights.new("lamp", "AREA")
    lamp.energy, lamp.size = 30 * radius * radius, radius
    for data, direction in ((sun, (-0.5, -0.6, 0.8)), (lamp, (0.9, 0.5, 0.3))):
        place(data, middle, Vector(direction).normalized(), radius * 3)


def look(middle, radius, direction):
    camera = bpy.data.cameras.new("camera")
    camera.lens_unit, camera.angle = "FOV", 0.6
    camera.clip_start, camera.clip_end = radius / 100, radius * 100
    bpy.context.scene.camera = place(camera, middle, direction, radius / numpy.sin(0.3))


def place(data, middle, direction, distance):
    item = bpy.data.objects.new(data.name, data)
    item.location = middle + direction * float(distance)
    item.rotation_euler = direction.to_track_quat("Z", "Y").to_euler()
    bpy.context.collection.objects.link(item)
    return item


main()

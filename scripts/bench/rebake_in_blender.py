"""Decimates a glTF model and bakes its textures with Cycles. Run by `scripts/bench/engine --rebake`:

  blender --background --python scripts/bench/rebake_in_blender.py -- IN.glb OUT.glb TRIANGLES SIDE

Opaque and blended materials are baked apart, as the engine does, so glass stays glass. Each class gets textures of SIDE
pixels: base colour with alpha, roughness and metalness, normals, emitted light.
"""

import sys

import bmesh
import bpy
import numpy

MARGIN = 4

# The importer of Blender 3.4 uses names that newer versions of numpy have removed.
for name, kind in (("bool", bool), ("float", float), ("int", int)):
    if name not in numpy.__dict__:
        setattr(numpy, name, kind)


def main():
    source, out, triangles, side = sys.argv[sys.argv.index("--") + 1:]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=source)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 4
    scene.cycles.use_denoising = False
    classes = sorted(by_class().items())
    total = sum(triangles_of(item) for _, item in classes)
    size = max(extent(item) for _, item in classes)
    print(f"{total} triangles, size {size}")
    baked = [bake(name, item, int(triangles) / total, int(side), size) for name, item in classes]
    for item in list(bpy.data.objects):
        if item not in baked:
            bpy.data.objects.remove(item)
    bpy.ops.export_scene.gltf(filepath=out, export_format="GLB", export_image_format="AUTO", export_tangents=True)


def by_class():
    """One object for the opaque and one for the blended faces, with all transforms applied."""
    found = {}
    meshes = [item for item in bpy.context.scene.objects if item.type == "MESH"]
    for item in meshes:
        select([item])
        bpy.ops.object.make_single_user(object=True, obdata=True)
        bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM")
        bpy.ops.object.transform_apply()
        bpy.ops.mesh.separate(type="MATERIAL")
    for item in [item for item in bpy.context.scene.objects if item.type == "MESH"]:
        material = item.active_material
        is_blended = material is not None and material.blend_method == "BLEND"
        found.setdefault("blend" if is_blended else "opaque", []).append(item)
    for items in found.values():
        select(items)
        if len(items) > 1:
            bpy.ops.object.join()
    return {name: items[0] for name, items in found.items()}


def select(items):
    bpy.ops.object.select_all(action="DESELECT")
    for item in items:
        item.select_set(True)
    bpy.context.view_layer.objects.active = items[0]


def extent(item):
    points = numpy.empty(len(item.data.vertices) * 3, numpy.float32)
    item.data.vertices.foreach_get("co", points)
    points = points.reshape(-1, 3)
    return float((points.max(axis=0) - points.min(axis=0)).max())


def triangles_of(item):
    return sum(len(face.vertices) - 2 for face in item.data.polygons)


def bake(name, high, share, side, size):
    low = high.copy()
    low.data = high.data.copy()
    bpy.context.collection.objects.link(low)
    select([low])
    low.data.materials.clear()
    if low.data.has_custom_normals:
        bpy.ops.mesh.customdata_custom_splitnormals_clear()
    weld(low, size * 1e-5)
    before = triangles_of(low)
    decimate = low.modifiers.new("decimate", "DECIMATE")
    decimate.ratio = share * triangles_of(high) / max(before, 1)
    decimate.use_collapse_triangulate = True
    bpy.ops.object.modifier_apply(modifier="decimate")
    bpy.ops.object.shade_smooth()
    while low.data.uv_layers:
        low.data.uv_layers.remove(low.data.uv_layers[0])
    low.data.uv_layers.new(name="atlas")
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.uv.smart_project(angle_limit=1.15, island_margin=MARGIN / side)
    bpy.ops.object.mode_set(mode="OBJECT")
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    low.data.materials.append(material)
    maps = {"normal": baked_map(high, low, material, "normal", side, size)}
    for channel in ("Base Color", "Roughness", "Metallic", "Emission", "Alpha"):
        emit(high, channel)
        maps[channel] = baked_map(high, low, material, channel, side, size)
    wire(material, maps, side, name == "blend")
    return low


def weld(item, distance):
    mesh = bmesh.new()
    mesh.from_mesh(item.data)
    bmesh.ops.remove_doubles(mesh, verts=mesh.verts, dist=distance)
    mesh.to_mesh(item.data)
    mesh.free()


def emit(item, channel):
    """Makes every material of an object emit one of its inputs."""
    for slot in item.material_slots:
        tree = slot.material.node_tree
        shader = next((node for node in tree.nodes if node.type == "BSDF_PRINCIPLED"), None)
        output = next((node for node in tree.nodes if node.type == "OUTPUT_MATERIAL"), None)
        if shader is None or output is None:
            continue
        light = tree.nodes.get("baked") or tree.nodes.new("ShaderNodeEmission")
        light.name = "baked"
        for link in list(light.inputs["Color"].links):
            tree.links.remove(link)
        source = shader.inputs[channel]
        if source.links:
            tree.links.new(source.links[0].from_socket, light.inputs["Color"])
        elif channel in ("Base Color", "Emission"):
            light.inputs["Color"].default_value = source.default_value
        else:
            light.inputs["Color"].default_value = [source.default_value] * 3 + [1]
        tree.links.new(light.outputs[0], output.inputs["Surface"])


def baked_map(high, low, material, name, side, size):
    image = bpy.data.images.new(f"{material.name} {name}", side, side, alpha=False, float_buffer=False)
    if name not in ("Base Color", "Emission"):
        image.colorspace_settings.name = "Non-Color"
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    material.node_tree.nodes.active = node
    select([low, high])
    bpy.context.view_layer.objects.active = low
    bpy.ops.object.bake(
        type="NORMAL" if name == "normal" else "EMIT", use_selected_to_active=True, cage_extrusion=size * 0.01,
        max_ray_distance=size * 0.03, margin=MARGIN, normal_space="TANGENT",
    )
    return image


def pixels_of(image, side):
    values = numpy.empty(side * side * 4, numpy.float32)
    image.pixels.foreach_get(values)
    return values.reshape(-1, 4)


def stored(name, pixels, side, is_data):
    image = bpy.data.images.new(name, side, side, alpha=True)
    if is_data:
        image.colorspace_settings.name = "Non-Color"
    image.pixels.foreach_set(pixels.reshape(-1))
    image.update()
    image.pack()
    return image


def wire(material, maps, side, is_blended):
    """Makes the material read its maps in the way that the exporter of glTF understands."""
    tree = material.node_tree
    shader = tree.nodes["Principled BSDF"]

    def node(image):
        found = tree.nodes.new("ShaderNodeTexImage")
        found.image = image
        return found

    color = pixels_of(maps["Base Color"], side)
    if is_blended:
        color[:, 3] = pixels_of(maps["Alpha"], side)[:, 0]
        material.blend_method = "BLEND"
    texture = node(stored(f"{material.name} color", color, side, False))
    tree.links.new(texture.outputs["Color"], shader.inputs["Base Color"])
    if is_blended:
        tree.links.new(texture.outputs["Alpha"], shader.inputs["Alpha"])
    packed = numpy.ones((side * side, 4), numpy.float32)
    packed[:, 1] = pixels_of(maps["Roughness"], side)[:, 0]
    packed[:, 2] = pixels_of(maps["Metallic"], side)[:, 0]
    parts = tree.nodes.new("ShaderNodeSeparateColor")
    tree.links.new(node(stored(f"{material.name} orm", packed, side, True)).outputs["Color"], parts.inputs[0])
    tree.links.new(parts.outputs[1], shader.inputs["Roughness"])
    tree.links.new(parts.outputs[2], shader.inputs["Metallic"])
    bumps = tree.nodes.new("ShaderNodeNormalMap")
    maps["normal"].pack()
    tree.links.new(node(maps["normal"]).outputs["Color"], bumps.inputs["Color"])
    tree.links.new(bumps.outputs["Normal"], shader.inputs["Normal"])
    if pixels_of(maps["Emission"], side)[:, :3].max() > 0.01:
        maps["Emission"].pack()
        tree.links.new(node(maps["Emission"]).outputs["Color"], shader.inputs["Emission"])


main()

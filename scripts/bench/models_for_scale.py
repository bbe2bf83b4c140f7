"""Models whose one number grows: triangles, parts, instances or pixels. Written as GLB with nothing but the standard
library."""

import json
import math
import struct
import sys
import zlib
from array import array
from pathlib import Path


class Glb:
    def __init__(self):
        self.json = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}], "nodes": [], "meshes": [],
                     "accessors": [], "bufferViews": [], "buffers": [{}]}
        self.parts, self.length = [], 0

    def view(self, data):
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": self.length, "byteLength": len(data)})
        padding = bytes(-len(data) % 4)
        self.parts += [data, padding]
        self.length += len(data) + len(padding)
        return len(self.json["bufferViews"]) - 1

    def numbers(self, values, kind, width):
        accessor = {"bufferView": self.view(values.tobytes()), "count": len(values) // width,
                    "componentType": {"f": 5126, "I": 5125}[values.typecode], "type": kind}
        if kind == "VEC3":
            accessor["min"] = [min(values[axis::3]) for axis in range(3)]
            accessor["max"] = [max(values[axis::3]) for axis in range(3)]
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def mesh(self, primitive):
        self.json["meshes"].append({"primitives": [primitive]})
        return len(self.json["meshes"]) - 1

    def node(self, mesh, translation):
        self.json["scenes"][0]["nodes"].append(len(self.json["nodes"]))
        self.json["nodes"].append({"mesh": mesh, "translation": translation})

    def write(self, path):
        self.json["buffers"][0]["byteLength"] = self.length
        text = json.dumps({key: value for key, value in self.json.items() if value}).encode()
        text += b" " * (-len(text) % 4)
        with open(path, "wb") as file:
            file.write(struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + self.length, len(text), 0x4E4F534A) + text)
            file.write(struct.pack("<II", self.length, 0x004E4942))
            for part in self.parts:
                file.write(part)


def wave(glb, triangles, coordinates=False):
    """A curved sheet; each of its triangles counts for its shape."""
    side = math.isqrt(triangles // 2)
    across = [math.sin(step * 25 / side) * 0.04 for step in range(side + 1)]
    positions = array("f")
    for row in range(side + 1):
        height, z = math.cos(row * 19 / side) * 0.04, row / side
        positions.extend(number for step in range(side + 1) for number in (step / side, height + across[step], z))
    indices = array("I")
    for row in range(side):
        above, below = row * (side + 1), (row + 1) * (side + 1)
        indices.extend(corner for step in range(side) for corner in (
            above + step, below + step, above + step + 1, above + step + 1, below + step, below + step + 1))
    attributes = {"POSITION": glb.numbers(positions, "VEC3", 3)}
    if coordinates:
        flat = array("f", (number for row in range(side + 1) for step in range(side + 1)
                           for number in (step / side, row / side)))
        attributes["TEXCOORD_0"] = glb.numbers(flat, "VEC2", 2)
    return {"attributes": attributes, "indices": glb.numbers(indices, "SCALAR", 1)}


def in_grid(number, count):
    side = math.ceil(math.sqrt(count))
    return [number % side * 1.2, 0, number // side * 1.2]


def triangles(glb, count):
    glb.node(glb.mesh(wave(glb, count)), [0, 0, 0])


def parts(glb, count):
    """Parts of 100 triangles, each with data of its own."""
    for number in range(count):
        glb.node(glb.mesh(wave(glb, 100)), in_grid(number, count))


def instances(glb, count):
    """One mesh of 100,000 triangles, drawn `count` times."""
    mesh = glb.mesh(wave(glb, 100_000))
    for number in range(count):
        glb.node(mesh, in_grid(number, count))


def textures(glb, count):
    """Pictures of 2048 by 2048 pixels, each on a sheet of its own."""
    side = 2048
    rows = b"".join(b"\2" + bytes((x * 7 + y * 3) % 5 for x in range(side * 3)) for y in range(8)) * (side // 8)
    pixels = chunk(b"IDAT", zlib.compress(rows, 1))
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    glb.json |= {"images": [], "textures": [], "materials": []}
    sheet = wave(glb, 200, coordinates=True)
    for number in range(count):
        name = chunk(b"tEXt", b"Title\0" + str(number).encode())
        picture = glb.view(head + name + pixels + chunk(b"IEND", b""))
        glb.json["images"].append({"mimeType": "image/png", "bufferView": picture})
        glb.json["textures"].append({"source": number})
        glb.json["materials"].append({"pbrMetallicRoughness": {"baseColorTexture": {"index": number}}})
        glb.node(glb.mesh({**sheet, "material": number}), in_grid(number, count))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


KINDS = {"triangles": triangles, "parts": parts, "instances": instances, "textures": textures}


def drawn_triangles(kind, count):
    """As `wave` rounds them."""
    each = {"triangles": count, "parts": 100, "instances": 100_000, "textures": 200}[kind]
    return 2 * math.isqrt(each // 2) ** 2 * (1 if kind == "triangles" else count)


def write(kind, count, folder):
    """Writes `KIND-COUNT.glb` unless it is there; returns its path."""
    path = Path(folder) / f"{kind}-{count}.glb"
    if not path.exists():
        glb = Glb()
        KINDS[kind](glb, count)
        unfinished = path.with_suffix(".part")
        glb.write(unfinished)
        unfinished.rename(path)
    return path


if __name__ == "__main__":
    print(write(sys.argv[1], int(sys.argv[2]), sys.argv[3]))

"""Models of 440 vertices, each of another shape. Written as GLB with nothing but the standard library."""

import json
import math
import struct

ACROSS, DOWN = 22, 20


def glb(seed):
    """A bent sphere of 440 vertices."""
    positions, normals, indices = [], [], []
    for j in range(DOWN):
        for i in range(ACROSS):
            a, b = 2 * math.pi * i / (ACROSS - 1), math.pi * j / (DOWN - 1)
            normal = (math.sin(b) * math.cos(a), math.cos(b), math.sin(b) * math.sin(a))
            radius = 1 + 0.15 * math.sin(3 * a + seed) * math.sin(b) ** 2
            positions += [part * radius for part in normal]
            normals += normal
    for j in range(DOWN - 1):
        for i in range(ACROSS - 1):
            k = j * ACROSS + i
            indices += [k, k + ACROSS, k + 1, k + 1, k + ACROSS, k + ACROSS + 1]
    parts = [
        struct.pack(f"<{len(positions)}f", *positions),
        struct.pack(f"<{len(normals)}f", *normals),
        struct.pack(f"<{len(indices)}H", *indices),
    ]
    views, at = [], 0
    for part in parts:
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(part)})
        at += len(part)
    low, high = ([pick(positions[axis::3]) for axis in range(3)] for pick in (min, max))
    count = ACROSS * DOWN
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": f"part{seed}"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 2}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", "min": low, "max": high},
            {"bufferView": 1, "componentType": 5126, "count": count, "type": "VEC3"},
            {"bufferView": 2, "componentType": 5123, "count": len(indices), "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": at}],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary = b"".join(parts)
    binary += b"\0" * (-len(binary) % 4)
    header = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(binary))
    chunk = lambda kind, data: struct.pack("<I4s", len(data), kind) + data
    return header + chunk(b"JSON", text) + chunk(b"BIN\0", binary)

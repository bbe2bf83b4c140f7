"""Tables of the factory presets for the web beside gltfpack: bytes, similarity, processor seconds.

Both programs get the same model; gltfpack reads only glTF and OBJ, so others are first written as glb without reduction. A preset
that has fewer triangles or pixels than the model asks gltfpack for the same limits (-si, -tl). All results are judged by
`assetfs engine-compare`: similarity is the mean of six views and the worst tile, 100 is the same. No program draws pictures in
the seconds, which are those of all processors, so that they depend little on what else runs.
What gltfpack writes does not depend on assetfs: with a folder to keep it in (--kept), later runs take it from there.
"""

import copy
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SLOTS = ["baseColor", "normal", "orm", "emissive"]
# gltfpack has three classes of textures.
CLASSES = {"color": "baseColor", "normal": "normal", "attrib": "orm"}
# A preset, the format of its textures if not its own, and the options of gltfpack beside it.
ROWS = [
    ("Web Viewer", "auto", ["-cc"]),
    ("Web Viewer", None, ["-cc -tw", "-cc -tc", "-cc -tu"]),
    ("Web Viewer Light", None, ["-cc -tw", "-cc -tc", "-cc -tu"]),
]
KEPT = {"auto": ", textures kept", None: ""}


def tables(assetfs, gltfpack, configs, models, kept=None):
    version = subprocess.run([gltfpack, "-v"], stdout=subprocess.PIPE, text=True).stdout.strip()
    found = {}
    for model in models:
        print(f"· {model.name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as work:
            peers = (kept or Path(work)) / f"{version.replace(' ', '-')}-{model.name}"
            measured = measure(assetfs, gltfpack, configs, model, Path(work), peers)
            if measured:
                found[model.name] = measured
    parts = [table(preset, kind, peers, found) for preset, kind, peers in ROWS]
    return f"Measured with {version}.\n\n" + "\n\n".join(parts)


def measure(assetfs, gltfpack, configs, model, work, peers_folder):
    """A cell for each preset and each set of options; the key of the source is "source"."""
    source = as_gltf(assetfs, model, work)
    if source is None:
        return None
    counts = None
    files, seconds = {}, {}
    for number, (preset, kind, peers) in enumerate(ROWS):
        config = copy.deepcopy(configs[preset])
        if kind:
            config["compressionAndExport"]["fileExports"][0]["textureFormat"] = dict.fromkeys(SLOTS, kind)
        out = work / f"ours-{number}"
        report, took = optimized(assetfs, config, source, out, work)
        if report is None:
            continue
        counts = counts or report["before"]
        files[preset, kind] = out / report["exports"][0]["files"][0]
        seconds[preset, kind] = took
        for options in peers:
            command = options.split() + limits(config, report["before"], options)
            key = " ".join(command)
            if key not in files:
                files[key], seconds[key] = peer(gltfpack, source, command, peers_folder / key.replace(" ", ""))
            files[preset, kind, options], seconds[preset, kind, options] = files[key], seconds[key]
    written = sorted({str(file) for file in files.values() if file})
    alike = judged(assetfs, source, written)
    cells = {
        key: {**alike.get(str(file), {}), "bytes": file.stat().st_size, "seconds": seconds[key]}
        for key, file in files.items() if file
    }
    cells["source"] = counts
    return cells


def as_gltf(assetfs, model, work):
    """The model's glTF file; others are written as glb first, with all triangles and pixels."""
    inside = sorted(model.glob("*.gltf")) if model.is_dir() else [model]
    if inside and inside[0].suffix.lower() in {".glb", ".gltf"}:
        return inside[0]
    out = work / "converted"
    config = {"compressionAndExport": {"fileExports": [{"fileType": "glb"}]}}
    report, _ = optimized(assetfs, config, model, out, work)
    return report and out / report["exports"][0]["files"][0]


def optimized(assetfs, config, model, out, work):
    preset = work / "preset.json"
    preset.write_text(json.dumps(config))
    command = [assetfs, "optimize", str(model), str(out), "--preset", str(preset), "--no-pictures", "--json", "--quiet"]
    start = processor_seconds()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stderr.strip(), file=sys.stderr)
        return None, 0.0
    return json.loads(done.stdout), processor_seconds() - start


def processor_seconds():
    """Those of all programs that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def limits(config, counts, options):
    """What asks gltfpack for the limits of a preset, where the model exceeds them."""
    asked = config["limits"]
    more = []
    most = asked["faces"]["count"]
    if counts["triangles"] > most:
        more += ["-si", f"{most / counts['triangles']:.6f}", "-se", "1"]
    if "-t" in options:
        for name, slot in CLASSES.items():
            if counts["largest_texture"] > asked["textures"][slot]:
                more += ["-tl", name, str(asked["textures"][slot])]
    return more


def peer(gltfpack, source, options, out):
    """The file that gltfpack writes, and the processor seconds it took; those of an earlier run where they are kept."""
    packed, noted = out / "packed.glb", out / "seconds"
    if noted.is_file():
        return packed if packed.is_file() else None, float(noted.read_text())
    out.mkdir(parents=True, exist_ok=True)
    start = processor_seconds()
    done = subprocess.run([gltfpack, "-i", str(source), "-o", str(packed), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    took = processor_seconds() - start
    if done.returncode != 0 or not packed.is_file():
        print(f"gltfpack {' '.join(options)}: {done.stdout.strip()}", file=sys.stderr)
        packed.unlink(missing_ok=True)
    noted.write_text(f"{took:.3f}")
    return packed if packed.is_file() else None, took


def judged(assetfs, source, files):
    """How alike each file looks. A file that cannot be read has nothing."""
    done = subprocess.run([assetfs, "engine-compare", str(source), *files],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 and len(files) == 1:
        print(f"{files[0]} cannot be compared: {done.stderr.strip()}", file=sys.stderr)
        return {}
    if done.returncode != 0:
        return {name: alike for file in files for name, alike in judged(assetfs, source, [file]).items()}
    lines = map(json.loads, done.stdout.splitlines())
    return {line["file"]: line for line in lines}


def table(preset, kind, peers, found):
    title = preset + KEPT[kind]
    heads = ["model", "source", title] + [f"gltfpack `{options}`" for options in peers]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    wins = dict.fromkeys(peers, 0)
    for model, cells in found.items():
        ours = cells.get((preset, kind))
        row = [model, f"{cells['source']['bytes']:,}", cell(ours)]
        for options in peers:
            theirs = cells.get((preset, kind, options))
            row.append(cell(theirs) + verdict(ours, theirs))
            wins[options] += is_no_worse(ours, theirs)
        lines.append("| " + " | ".join(row) + " |")
    said = [f"`{options}` {count} of {len(found)}" for options, count in wins.items()]
    return "\n".join(lines) + f"\n\n{title}: models with at most as many bytes as gltfpack and a picture that is no worse: " + ", ".join(said) + "."


def cell(found):
    if found is None:
        return "failed"
    alike = f"{found['score']:.1f} / {found['worst_tile']:.0f}" if "score" in found else "unread"
    return f"{found['bytes']:,}, {alike}, {found['seconds']:.1f} s"


# Differences of the similarity that are below its last digit in the table.
SAME = 0.05


def is_no_worse(ours, theirs):
    if not ours or not theirs or "score" not in ours or "score" not in theirs:
        return False
    return ours["bytes"] <= theirs["bytes"] and ours["score"] >= theirs["score"] - SAME


def verdict(ours, theirs):
    """Says in what the other program is ahead."""
    if not ours or not theirs or "score" not in theirs:
        return ""
    ahead = ["smaller"] if theirs["bytes"] < ours["bytes"] else []
    ahead += ["closer"] if theirs["score"] - SAME > ours["score"] else []
    return f" (**{', '.join(ahead)}**)" if ahead else ""

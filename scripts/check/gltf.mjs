// Validates every glb and gltf of a folder and holds them against their source; takes the Draco meshes out of them.
//   node gltf.mjs TOOLS MODEL OUT SCRATCH
// Prints a line for each error, and for each kind of warning that the source has not. Each mesh packed with Draco is
// written to SCRATCH/<file>-<mesh>-<primitive>-<triangles>.drc.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, model, out, scratch] = process.argv.slice(2);
const validator = createRequire(path.resolve(tools, 'x.js'))('gltf-validator');
const isGltf = name => /\.(glb|gltf)$/i.test(name);

function below(dir) {
  return fs.readdirSync(dir, { recursive: true }).map(name => path.join(dir, name)).filter(isGltf);
}

/** The glTF files of the source: itself, or those in its folder or archive. */
function sources() {
  if (fs.statSync(model).isDirectory()) return below(model);
  if (/\.zip$/i.test(model)) {
    const dir = path.join(scratch, 'source');
    execFileSync('python3', ['-m', 'zipfile', '-e', model, dir]);
    return below(dir);
  }
  return isGltf(model) ? [model] : [];
}

async function issues(file) {
  const dir = path.dirname(file);
  const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {
    uri: path.basename(file),
    maxIssues: 0,
    externalResourceFunction: async uri => {
      const plain = decodeURIComponent(uri);
      return new Uint8Array(fs.readFileSync(path.join(dir, plain)));
    },
  });
  return report.issues.messages;
}

function parse(file) {
  const bytes = fs.readFileSync(file);
  if (bytes.toString('latin1', 0, 4) !== 'glTF') {
    const json = JSON.parse(bytes);
    const uri = json.buffers?.[0]?.uri;
    return { json, bin: uri ? fs.readFileSync(path.join(path.dirname(file), decodeURIComponent(uri))) : null };
  }
  const length = bytes.readUInt32LE(12);
  return { json: JSON.parse(bytes.subarray(20, 20 + length)), bin: bytes.subarray(28 + length) };
}

function takeDraco(file) {
  const { json, bin } = parse(file);
  json.meshes?.forEach((mesh, meshNumber) => mesh.primitives.forEach((primitive, number) => {
    const packed = primitive.extensions?.KHR_draco_mesh_compression;
    if (!packed) return;
    const view = json.bufferViews[packed.bufferView];
    const triangles = json.accessors[primitive.indices].count / 3;
    const start = view.byteOffset ?? 0;
    const name = `${path.basename(file)}-${meshNumber}-${number}-${triangles}.drc`;
    fs.writeFileSync(path.join(scratch, name), bin.subarray(start, start + view.byteLength));
  }));
}

const known = new Set();
for (const source of sources()) {
  for (const issue of await issues(source).catch(() => [])) known.add(issue.code);
}
for (const file of fs.readdirSync(out).filter(isGltf).map(name => path.join(out, name))) {
  const seen = new Set();
  for (const { severity, code, message, pointer } of await issues(file)) {
    const isNew = severity === 0 || (severity === 1 && !known.has(code));
    if (!isNew || seen.has(code)) continue;
    seen.add(code);
    console.log(`${path.basename(file)}: ${severity === 0 ? 'error' : 'warning'} ${code} at ${pointer}: ${message}`);
  }
  takeDraco(file);
}

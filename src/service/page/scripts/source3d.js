// What the 3D view of a model loads: a glb, or a glTF with its files. The bytes are fetched here and handed to the frame, which
// has no network.
import { Problem, get } from './api.js';
import { extension } from './format.js';
import { stable } from './pictures.js';
import { find, urisOf } from './references.js';
import { isJunk } from './upload_plan.js';
import { membersOf } from './zip.js';

const GLTF = ['glb', 'gltf'];

/**
 * A model that can be shown in 3D.
 * @typedef {{label: string, size: number, load: (signal: AbortSignal) => Promise<{main: ArrayBuffer, uris: Record<string, ArrayBuffer>|null}>}} Source3D
 */

/** The uploaded model: itself if it is a glTF, also in a zip, else its conversion to glb; null if there is neither. @returns {Source3D|null} */
export function ofAsset(asset) {
  const uploaded = Object.keys(asset.downloads).find((name) => GLTF.includes(extension(name)));
  const { name: label, size } = asset;
  // Addresses are read when they are needed: records are renewed while they are shown.
  if (uploaded && extension(uploaded) === 'glb') return { label, size, load: (signal) => glb(asset.downloads[uploaded], signal) };
  if (asset.converted_glb) return { label, size, load: (signal) => glb(asset.converted_glb.url, signal) };
  const archive = Object.keys(asset.downloads).find((name) => extension(name) === 'zip');
  if (!uploaded && archive && GLTF.includes(asset.format)) return { label, size, load: (signal) => zipped(asset.downloads[archive], asset.format, signal) };
  if (!uploaded) return null;
  return { label, size, load: async (signal) => {
    const files = await get(`rawmodel/${asset.id}/downloads`);
    return gltf(uploaded, files, signal);
  } };
}

/** A result: its glb, else its gltf with the files beside it; null if it has neither. @returns {Source3D|null} */
export function ofResult(rapid) {
  const all = () => rapid.downloads.all ?? {};
  const named = (format) => Object.keys(all()).find((name) => extension(name) === format);
  const [label, size] = [rapid.preset_name ?? rapid.name, rapid.meta?.exportSize ?? 0];
  if (named('glb')) return { label, size, load: (signal) => glb(all()[named('glb')], signal) };
  return named('gltf') ? { label, size, load: (signal) => gltf(named('gltf'), all(), signal) } : null;
}

const glb = async (url, signal) => ({ main: await bytesOf(url, signal), uris: null });

/** @param {Record<string, string>} files addresses by name */
function gltf(name, files, signal) {
  const there = Object.entries(files).map(([path, url]) => ({ path, read: () => bytesOf(url, signal) }));
  return withFiles(there.find(({ path }) => path === name), there);
}

/** The model of a format in a zip. Of several it is the one that the service takes: fewest folders above it, then the largest. */
async function zipped(url, format, signal) {
  const members = (await membersOf(url, signal)).filter(({ path }) => !isJunk(path));
  const depth = ({ path }) => path.split('/').length;
  const [main] = members.filter(({ path }) => extension(path) === format)
    .sort((one, two) => depth(one) - depth(two) || two.size - one.size || (one.path < two.path ? -1 : 1));
  if (!main) throw new Problem('The page does not find the model inside the archive. Its pictures and files are there.');
  return format === 'glb' ? { main: await main.read(), uris: null } : withFiles(main, members);
}

/** @param {{path: string, read: () => Promise<ArrayBuffer>}} model @param {(typeof model)[]} files where those are that it names */
async function withFiles(model, files) {
  const main = await model.read();
  const uris = urisOf(new TextDecoder().decode(main));
  const fetched = await Promise.all(uris.map(async (uri) => {
    const file = find(files, model.path, decoded(uri)) ?? find(files, model.path, uri);
    return file ? [[uri, await file.read()]] : [];
  }));
  return { main, uris: Object.fromEntries(fetched.flat()) };
}

function decoded(uri) {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

async function bytesOf(url, signal) {
  const response = await fetch(stable(url), { credentials: 'omit', signal });
  if (!response.ok) throw new Problem('The model cannot be read. Reload the page and try again.', { status: response.status });
  return response.arrayBuffer();
}

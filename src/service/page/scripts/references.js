// Which dropped files a model refers to, as far as its format can be read here: glTF, GLB, OBJ, MTL, USD and PLY as text, FBX by
// the names of images in it. The rules of `find` are those of the service: a reference is exact, or it differs in case or in the
// form of Unicode, or only the end of its path fits.
import { extension } from './format.js';

/** Longer texts are read up to here. */
const MAX_BYTES = 64 << 20;
/** The same for OBJ and PLY, which name files at their start. */
const HEAD_BYTES = 1 << 20;

/**
 * What a file refers to; of each the texts that it may mean, the likeliest first.
 * @param {{path: string, file: File}} one
 * @returns {Promise<string[][]>}
 */
export async function referencesOf(one) {
  try {
    return await (READERS[extension(one.path)] ?? (() => []))(one.file);
  } catch {
    // A damaged model is sent all the same: the service says what is wrong with it.
    return [];
  }
}

const READERS = {
  gltf: async (file) => ofDocument(await file.slice(0, MAX_BYTES).text()),
  glb: async (file) => {
    const head = new DataView(await file.slice(0, 20).arrayBuffer());
    return ofDocument(await file.slice(20, 20 + Math.min(head.getUint32(12, true), MAX_BYTES)).text());
  },
  obj: async (file) => lines(await textOf(file.slice(0, HEAD_BYTES)), /^\s*mtllib\s+(.+)$/gm)
    .flatMap((names) => (/\.mtl\s+\S/i.test(names) ? names.split(/(?<=\.mtl)\s+/i).map((name) => [name, names]) : [[names]])),
  mtl: async (file) => lines(await textOf(file.slice(0, MAX_BYTES)), /^\s*(?:map_\w+|bump|disp|decal|refl|norm)\s+(.+)$/gim)
    .map((text) => [text, text.replace(/^(-\w+(\s+(on|off|[-+.\d]+\S*|\w+(?=\s)))+\s+)+/, '')]),
  ply: async (file) => lines(await textOf(file.slice(0, HEAD_BYTES)), /^comment\s+TextureFile\s+(.+)$/gim).map((text) => [text]),
  usda: async (file) => lines(await textOf(file.slice(0, MAX_BYTES)), /@([^@\n]+)@/g).map((text) => [text]),
  fbx: async (file) => {
    const text = new TextDecoder('utf-8').decode(await file.slice(0, MAX_BYTES).arrayBuffer());
    return lines(text, /([^\x00-\x1f"*<>|?]{1,250}\.(?:png|jpe?g|tga|bmp|webp|tiff?))/gi).map((text) => [text]);
  },
};

/** The text of a blob that may end within a character. What is not UTF-8 is Windows-1252, as for the service. */
async function textOf(blob) {
  const bytes = await blob.arrayBuffer();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

const lines = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1].trim().replace(/^"|"$/g, ''));

/** The files that a glTF document names, as it writes them. */
export function urisOf(text) {
  const { buffers = [], images = [] } = JSON.parse(text);
  return [...buffers, ...images].map(({ uri }) => uri).filter((uri) => typeof uri === 'string' && !/^data:/i.test(uri));
}

function ofDocument(text) {
  return urisOf(text).map((uri) => {
    try {
      return [decodeURIComponent(uri), uri];
    } catch {
      return [uri];
    }
  });
}

const fold = (path) => path.normalize('NFC').toLowerCase().normalize('NFC');

/**
 * The file that `text` in the file `from` means; null if there is none, or if several could be meant.
 * @template {{path: string}} T
 * @param {T[]} files
 * @returns {T|null}
 */
export function find(files, from, text) {
  const parts = from.split('/').slice(0, -1);
  const named = text.replaceAll('\\', '/');
  if (/^(https?|data):/i.test(named)) return null;
  const isAbsolute = /^(file:|[a-z]:|\/)/i.test(named);
  const place = isAbsolute ? [] : parts;
  for (const part of named.split('/')) {
    if (part === '..') place.pop();
    else if (part && part !== '.') place.push(part);
  }
  const wanted = place.join('/');
  const exact = files.find(({ path }) => path === wanted);
  if (exact) return exact;
  const same = files.filter(({ path }) => fold(path) === fold(wanted));
  if (same.length > 0) return same.length === 1 ? same[0] : null;
  const common = ({ path }) => {
    const [one, other] = [fold(path).split('/').reverse(), fold(wanted).split('/').reverse()];
    const end = one.findIndex((part, at) => part !== other[at]);
    return end < 0 ? one.length : end;
  };
  const longest = Math.max(0, ...files.map(common));
  const best = longest > 0 ? files.filter((one) => one.path !== from && common(one) === longest) : [];
  return best.length === 1 ? best[0] : null;
}

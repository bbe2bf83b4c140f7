// What the drive checks before it sends a model, for the page: whether every file is whole, and whether the files are there that
// the model refers to. The sentences are those of the drive.
import { extension } from './format.js';
import { find, referencesOf } from './references.js';
import { shortage, sizeSentence } from './wholeness.js';

/** Formats whose references say for certain which files belong to the model. */
const CERTAIN = ['gltf', 'glb', 'obj', 'mtl', 'usda', 'ply'];

/**
 * What is wrong with a model that is about to be sent, in sentences.
 * @param {import('./upload_plan.js').Planned} planned
 * @returns {Promise<string[]>}
 */
export async function problemsOf({ files }) {
  const found = [];
  for (const one of files) {
    const short = await shortage(one).catch(() => `${one.path} cannot be read; choose it again`);
    if (short) found.push(`incomplete: ${short}`);
  }
  const missing = new Set();
  for (const one of files.filter(({ path }) => CERTAIN.includes(extension(path)))) {
    for (const texts of await referencesOf(one)) {
      if (/^(https?|data):/i.test(texts[0])) continue;
      if (!texts.some((text) => find(files, one.path, text))) missing.add(texts[0]);
    }
    for (const [name, length] of await buffersOf(one)) {
      const buffer = find(files, one.path, name);
      if (buffer && buffer.file.size < length) found.push(`incomplete: ${sizeSentence(buffer.path, buffer.file.size, length)}`);
    }
  }
  if (missing.size) found.push(`missing files that the model refers to: ${[...missing].join(', ')}`);
  return found;
}

/** The files of the buffers of a glTF, with the bytes that it needs of each. */
async function buffersOf({ path, file }) {
  if (extension(path) !== 'gltf') return [];
  try {
    const { buffers = [] } = JSON.parse(await file.text());
    return buffers.filter(({ uri, byteLength }) => typeof uri === 'string' && !/^data:/i.test(uri) && Number.isFinite(byteLength))
      .map(({ uri, byteLength }) => [decodeURIComponent(uri), byteLength]);
  } catch {
    return [];
  }
}

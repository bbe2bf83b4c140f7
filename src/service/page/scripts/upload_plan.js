// Which models the dropped files are: an archive is one model, a folder is one model, loose files are sorted by what
// their formats need. Pure functions; `facts` are the formats that the service reads.
import { extension } from './format.js';

/** Names that operating systems leave in folders; they are no part of a model. */
const JUNK = /(^|\/)(__MACOSX|\.DS_Store|\.directory|Thumbs\.db|desktop\.ini|\._[^/]*)(\/|$)/i;

/** @typedef {{path: string, file: File}} Dropped `path` has the folders above the file, with `/`. */
/** @typedef {{name: string, files: Dropped[], isZip: boolean, main: string|null}} Planned */

/**
 * The models that `dropped` are.
 * @param {Dropped[]} dropped
 * @param {{read: {extension: string, alone: boolean}[]}} formats best first
 * @returns {Planned[]}
 */
export function plan(dropped, formats) {
  const files = dropped.filter(({ path }) => !JUNK.test(path));
  const folders = new Map();
  const loose = [];
  for (const one of files) {
    const [top, ...rest] = one.path.split('/');
    if (rest.length === 0) loose.push(one);
    else folders.set(top, [...(folders.get(top) ?? []), { ...one, path: rest.join('/') }]);
  }
  const ofFolders = [...folders].map(([name, inside]) => whole(name, inside, formats));
  return [...ofFolders, ...ofLoose(loose, formats)];
}

/** All files as one model. */
export function whole(name, files, formats) {
  const main = mainFile(files, formats);
  return { name, files, isZip: isArchive(files), main: main?.path ?? (isArchive(files) ? files[0].path : null) };
}

const isArchive = (files) => files.length === 1 && extension(files[0].path) === 'zip';

/** Loose files: archives apart; several models that need no other file are a model each; else they are one model. */
function ofLoose(files, formats) {
  if (files.length === 0) return [];
  const archives = files.filter((one) => isArchive([one]));
  const others = files.filter((one) => !isArchive([one]));
  const planned = archives.map((one) => whole(stem(one.path), [one], formats));
  const models = others.filter((one) => formatOf(one, formats));
  const areAlone = models.length === others.length && models.every((one) => formatOf(one, formats).alone);
  if (areAlone) return [...planned, ...models.map((one) => whole(stem(one.path), [one], formats))];
  if (others.length) planned.push(whole(stem((mainFile(others, formats) ?? others[0]).path), others, formats));
  return planned;
}

const formatOf = ({ path }, formats) => formats.read.find((format) => format.extension === extension(path));

/** The file that is probably the model: the one nearest to the top, then the one with the better format. */
function mainFile(files, formats) {
  const rank = (one) => formats.read.findIndex((format) => format.extension === extension(one.path));
  const depth = (one) => one.path.split('/').length;
  const models = files.filter((one) => rank(one) >= 0);
  return models.sort((one, two) => depth(one) - depth(two) || rank(one) - rank(two))[0] ?? null;
}

const stem = (path) => path.split('/').pop().replace(/\.[^.]+$/, '') || path;

/** The files of a drop, folders opened. */
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].filter((item) => item.kind === 'file').map((item) => item.webkitGetAsEntry?.());
  if (entries.length === 0 || entries.some((entry) => !entry)) return chosenFiles(transfer.files);
  const found = [];
  for (const entry of entries) await walk(entry, '', found);
  return found;
}

/** The files of a chooser. */
export const chosenFiles = (list) => [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

async function walk(entry, above, found) {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push({ path, file });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const child of some) await walk(child, `${path}/`, found);
  }
}

// Groups dropped files into models. An archive is one model. A model file and the files that it refers to are one model. Files
// that no model refers to belong to the model if there is only one; otherwise they are left over. Sends nothing.
import { extension } from './format.js';
import { find, referencesOf } from './references.js';

/** Names that operating systems leave in folders; they are no part of a model. */
const JUNK = /(^|\/)(__MACOSX|\.DS_Store|\.directory|Thumbs\.db|desktop\.ini|\._[^/]*)(\/|$)/i;

export const isJunk = (path) => JUNK.test(path);

/** @typedef {{read: {extension: string, alone: boolean, cad: boolean, references_known: boolean}[]}} Formats best first */
/** @typedef {{path: string, file: File}} Dropped `path` has the folders above the file, with `/`. */
/**
 * `isLeftOver`: these files belong to no model and are not sent.
 * @typedef {{name: string, files: Dropped[], isZip: boolean, main: string|null, isLeftOver?: boolean}} Planned
 */

/**
 * The models that `dropped` are.
 * @param {Dropped[]} dropped
 * @param {Formats} formats
 * @returns {Promise<Planned[]>}
 */
export async function plan(dropped, formats) {
  const files = dropped.filter(({ path }) => !isJunk(path));
  const folders = new Map();
  const loose = [];
  for (const one of files) {
    const [top, ...rest] = one.path.split('/');
    if (rest.length === 0) loose.push(one);
    else folders.set(top, [...(folders.get(top) ?? []), { ...one, path: rest.join('/') }]);
  }
  const archives = loose.filter((one) => isArchive([one])).map((one) => whole(stem(one.path), [one], formats));
  const others = loose.filter((one) => !isArchive([one]));
  const planned = [];
  for (const [name, inside] of folders) planned.push(...await grouped(inside, formats, name));
  return [...planned, ...archives, ...await grouped(others, formats)];
}

/** All files as one model. */
export function whole(name, files, formats) {
  const main = mainFile(files, formats);
  return { name, files, isZip: isArchive(files), main: main?.path ?? (isArchive(files) ? files[0].path : null) };
}

const isArchive = (files) => files.length === 1 && extension(files[0].path) === 'zip';

/** One model for each model file to which no other file refers; `folder` is the name of the folder of all files. */
async function grouped(files, formats, folder) {
  if (files.length === 0) return [];
  const named = new Map();
  for (const one of files) {
    const texts = await referencesOf(one);
    named.set(one, new Set(texts.flat().map((text) => find(files, one.path, text)).filter((found) => found && found !== one)));
  }
  const isNamed = (one) => [...named.values()].some((found) => found.has(one));
  // Model files with the same name are one model in several formats.
  const mains = new Map();
  for (const one of files.filter((one) => formatOf(one, formats) && !isNamed(one))) {
    const key = stem(one.path).toLowerCase();
    mains.set(key, [...(mains.get(key) ?? []), one]);
  }
  if (mains.size < 2) return [whole(folder ?? stem((mainFile(files, formats) ?? files[0]).path), files, formats)];
  const used = new Set();
  const planned = [...mains.values()].map((own) => {
    const all = new Set(own);
    for (const one of all) named.get(one).forEach((found) => all.add(found));
    all.forEach((one) => used.add(one));
    return whole(stem(own[0].path), files.filter((one) => all.has(one)), formats);
  });
  const left = files.filter((one) => !used.has(one));
  return left.length ? [...planned, leftOver(left)] : planned;
}

const leftOver = (files) => ({ name: '', files, isZip: false, main: null, isLeftOver: true });

/**
 * Moves the file `one` from the model `from` to `to` and returns the new plan. `to` is another model of the plan, `'own'` for a new
 * model, or `'none'` to leave the file out.
 * @param {Planned[]} planned
 */
export function moved(planned, one, from, to, formats) {
  const without = (group) => ({ ...whole(group.name, group.files.filter((other) => other !== one), formats), isLeftOver: group.isLeftOver });
  const withOne = (group) => ({ ...whole(group.name, [...group.files, one], formats), isLeftOver: group.isLeftOver });
  const left = planned.find((group) => group.isLeftOver);
  const target = to === 'none' ? left : to;
  const next = planned.map((group) => {
    if (group === from) return without(group);
    return group === target && !group.files.includes(one) ? withOne(group) : group;
  });
  if (to === 'own') next.unshift(whole(stem(one.path), [one], formats));
  if (to === 'none' && !left) next.push(leftOver([one]));
  return next.filter((group) => group.files.length > 0);
}

/**
 * Repeats moves in a new plan: to the model with this main file, to a model of its own (`own`), or out of the upload (`none`).
 * @param {Map<string, string>} moves by the path of the file
 */
export function movedAgain(planned, moves, formats) {
  for (const [path, to] of moves) {
    const from = planned.find(({ files }) => files.some((one) => one.path === path));
    const target = ['own', 'none'].includes(to) ? to : planned.find(({ main }) => main === to);
    if (!from || !target || target === from || (to === 'own' && from.files.length === 1)) continue;
    planned = moved(planned, from.files.find((one) => one.path === path), from, target, formats);
  }
  return planned;
}

export const formatOf = ({ path }, formats) => formats.read.find((format) => format.extension === extension(path));

/** The file that the service takes for the model, by its rules: no CAD file if there is another, then the nearest to the top, the better format, the largest. */
export function mainFile(files, formats) {
  const keys = ({ path, file }) => {
    const rank = formats.read.findIndex((format) => format.extension === extension(path));
    return [Number(formats.read[rank].cad), path.split('/').length, rank, -file.size];
  };
  const inOrder = (one, two) => keys(one).map((key, at) => key - keys(two)[at]).find((difference) => difference !== 0) ?? 0;
  return files.filter((one) => formatOf(one, formats)).sort(inOrder)[0] ?? null;
}

export const stem = (path) => path.split('/').pop().replace(/\.[^.]+$/, '') || path;

// What is compared: the source and the results that were made from it, each with its pictures, its numbers and its 3D view.
import { getIfThere } from './api.js';
import { h } from './dom.js';
import { bytes, factLine, number, shownName } from './format.js';
import { ofAsset, ofResult } from './source3d.js';
import { resultName } from './tags.js';

/**
 * One side of a comparison. `counts` is what its report counts: triangles, materials, bytes and so on; null without a report.
 * @typedef {{key: string, label: string, size: number|null, triangles: number|null, score: number|null, poster: string|null,
 *   counts: any, picture: (view: string) => string|null, source3d: import('./source3d.js').Source3D|null}} Side
 */

/** The source. Its pictures are among those of the result, drawn with the same camera. @returns {Side} */
export function sourceSide({ asset, renders, report }) {
  return { key: 'source', label: 'Source', counts: report?.source ?? null, size: asset?.size ?? report?.source.bytes ?? null,
    triangles: report?.source.triangles ?? null, score: null, poster: asset?.downloads['thumb.jpg'] ?? null,
    picture: (view) => (view === 'overview' ? asset?.overview : renders?.[`original-${view}.png`]) ?? null, source3d: asset ? ofAsset(asset) : null };
}

/** @param {{label: string, rapid: any, format: string, renders: any, report: any}} given @returns {Side} */
export function resultSide({ label, rapid, format, renders, report }) {
  return { key: String(rapid.id), label, counts: report && { ...report.result, bytes: report.size }, size: report?.size ?? rapid.meta?.exportSize ?? null,
    triangles: report?.result.triangles ?? null, score: report?.avgScore ?? null, poster: rapid.thumbnail?.first ?? null,
    picture: (view) => (view === 'overview' ? rapid.overview : renders?.[`${format}-${view}.png`]) ?? null, source3d: ofResult(rapid) };
}

/** What a result is called beside its source: as a drive calls it where that is known, else by its preset. */
export function labelOf(rapid) {
  const name = resultName(rapid);
  return name === shownName(rapid.name) ? rapid.preset_name ?? 'Own settings' : name;
}

/** The same beside other results, each with a name of its own. @returns {[any, string][]} */
export function labelled(rapid, others) {
  const taken = [labelOf(rapid)];
  return others.map((other) => {
    const label = labelOf(other);
    if (taken.includes(label)) return [other, `${label}~${other.id}`];
    taken.push(label);
    return [other, label];
  });
}

/** Another result of the same source in a format, if it has that; its pictures and its report are asked for. @returns {Promise<Side>} */
export async function otherSide(rapid, label, wanted) {
  const format = formatsOf(rapid).find((one) => one === wanted) ?? formatsOf(rapid)[0];
  const [renders, report] = await Promise.all([getIfThere(`rapidmodel/${rapid.id}/renders`), reportOf(rapid, format)]);
  return resultSide({ label, rapid, format, renders, report });
}

export const formatsOf = (rapid) => Object.keys(rapid.downloads).filter((key) => key !== 'all');

export const reportOf = (rapid, format) => (format ? getIfThere(`rapidmodel/${rapid.id}/${encodeURIComponent(format)}/downloadQc`) : null);

/** The name and the numbers of a side, which stand under it. */
export function caption(side) {
  const facts = [side.size !== null && bytes(side.size), side.triangles !== null && `${number(side.triangles)} triangles`,
    side.score !== null && `similarity ${side.score.toFixed(1)}`];
  return [h('strong', {}, side.label), h('span.hint', {}, factLine(facts))];
}

// What is compared: the source and the results that were made from it, each with its pictures, its numbers and its 3D view.
import { getIfThere } from './api.js';
import { h } from './dom.js';
import { bytes, number } from './format.js';
import { ofAsset, ofResult } from './source3d.js';

/**
 * One side of a comparison.
 * @typedef {{key: string, label: string, size: number|null, triangles: number|null, score: number|null, poster: string|null,
 *   picture: (view: string) => string|null, source3d: import('./source3d.js').Source3D|null}} Side
 */

/** The source. Its pictures are among those of the result, drawn with the same camera. @returns {Side} */
export function sourceSide({ asset, renders, report }) {
  return { key: 'source', label: 'Source', size: asset?.size ?? report?.source.bytes ?? null,
    triangles: report?.source.triangles ?? null, score: null, poster: asset?.downloads['thumb.jpg'] ?? null,
    picture: (view) => (view === 'overview' ? asset?.overview : renders?.[`original-${view}.png`]) ?? null, source3d: asset ? ofAsset(asset) : null };
}

/** @param {{label?: string, rapid: any, format: string, renders: any, report: any}} given @returns {Side} */
export function resultSide({ label, rapid, format, renders, report }) {
  return { key: String(rapid.id), label: label ?? nameOf(rapid), size: report?.size ?? rapid.meta?.exportSize ?? null,
    triangles: report?.result.triangles ?? null, score: report?.avgScore ?? null, poster: rapid.thumbnail?.first ?? null,
    picture: (view) => (view === 'overview' ? rapid.overview : renders?.[`${format}-${view}.png`]) ?? null, source3d: ofResult(rapid) };
}

export const nameOf = (rapid) => `${rapid.preset_name ?? 'Own settings'} (${rapid.id})`;

/** Another result of the same source; its pictures and its report are asked for. @returns {Promise<Side>} */
export async function otherSide(rapid) {
  const [format] = formatsOf(rapid);
  const [renders, report] = await Promise.all([getIfThere(`rapidmodel/${rapid.id}/renders`), reportOf(rapid, format)]);
  return resultSide({ rapid, format, renders, report });
}

export const formatsOf = (rapid) => Object.keys(rapid.downloads).filter((key) => key !== 'all');

export const reportOf = (rapid, format) => (format ? getIfThere(`rapidmodel/${rapid.id}/${encodeURIComponent(format)}/downloadQc`) : null);

/** The name and the numbers of a side, which stand under it. */
export function caption(side) {
  const facts = [side.size !== null && bytes(side.size), side.triangles !== null && `${number(side.triangles)} triangles`,
    side.score !== null && `${side.score.toFixed(1)} similar`];
  return [h('strong', {}, side.label), h('span.hint', {}, facts.filter(Boolean).join(' · '))];
}

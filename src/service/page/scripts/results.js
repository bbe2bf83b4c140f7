// The gallery of optimized models, over all models.
import { get, query as address } from './api.js';
import { KeyedList, badge, empty, pager, picture, progress, searchField, tagList } from './cards.js';
import { fill, h } from './dom.js';
import { ago, bytes, rapidState } from './format.js';

const PER_PAGE = 24;

export async function results({ place, life }) {
  let words = '';
  let page = 1;
  const grid = h('ul.grid', { 'aria-label': 'Results' });
  const nothing = h('div');
  const pages = h('div');
  const cards = new KeyedList(grid, resultCard);
  const refresh = async () => {
    const found = await get(address('rapidmodel', { q: words, page, itemsPerPage: PER_PAGE }));
    cards.show(found.data.map((rapid) => [resultKey(rapid), rapid]));
    grid.hidden = found.data.length === 0;
    fill(nothing, found.data.length ? null : noResults(words));
    fill(pages, pager(found.meta, (next) => {
      page = next;
      turn();
    }));
    return found.data.some((rapid) => rapidState(rapid).kind === 'busy');
  };
  const turn = () => refresh().catch((problem) => fill(nothing, h('p', {}, problem.message)));
  fill(place,
    h('header.view-head', {}, h('h1', {}, 'Results'), searchField('Search names and tags', '', (text) => {
      words = text;
      page = 1;
      turn();
    })),
    grid, nothing, pages);
  await life.keep(refresh);
}

function noResults(words) {
  if (words) return empty('search', 'No result matches', 'Search looks for every word in names and tags.', null);
  return empty('results', 'No results yet', 'Open a model and choose a preset to optimize it.',
    h('a.button', { href: '#/models' }, 'All models'));
}

/** Two records with the same key look the same. */
export const resultKey = (rapid) => JSON.stringify([rapid.id, rapid.optimization_status, rapid.progress, rapid.processing_step, rapid.tags]);

/** The mean similarity of the first format, 0 to 100, or null. */
export function similarity(rapid) {
  const first = Object.values(rapid.meta?.qc?.[0] ?? {})[0];
  return first?.avgScore ?? null;
}

export function resultCard(rapid) {
  const state = rapidState(rapid);
  const score = similarity(rapid);
  const facts = state.kind === 'good'
    ? [Object.keys(rapid.downloads).filter((key) => key !== 'all').join(', '), bytes(rapid.meta?.exportSize), ago(rapid.created_at)]
    : [ago(rapid.created_at)];
  return h('li.card', {},
    h('a.card-link', { href: `#/results/${rapid.id}` },
      h('div.card-picture', {}, picture(rapid.thumbnail?.first),
        state.kind === 'busy' ? progress(rapid.progress || null, `${rapid.name}: ${state.word}`) : null),
      h('div.card-text', {},
        h('h2.cut', { title: rapid.name }, rapid.name),
        h('p.cut', {}, rapid.preset_name ?? 'Own settings'),
        h('p.hint', {}, facts.filter(Boolean).join(' · ')),
        h('div.row.wrap', {},
          state.kind === 'good' ? null : badge(state),
          score === null ? null : h('span.badge.plain', { title: 'Similarity to the source, mean of six views' }, `${score.toFixed(1)} similar`),
          tagList(rapid.tags)))));
}

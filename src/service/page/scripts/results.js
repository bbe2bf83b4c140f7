// The gallery of optimized models, over all models.
import { serviceFacts } from './api.js';
import { badge, empty, picture, progress, tagList, since } from './cards.js';
import { h } from './dom.js';
import { bytes, factLine, failureOf, rapidState } from './format.js';
import { gallery } from './gallery.js';
import { warnings } from './models.js';
import { deleteSelected, downloadResults, tagSelected } from './several.js';
import { staleBadge, withStaleness } from './stale.js';
import { resultName } from './tags.js';

/** @type {import('./gallery.js').Kind} */
const KIND = {
  title: 'Results', one: 'result', section: 'results', api: 'rapidmodel',
  states: [['ready', 'Done'], ['busy', 'Queued or running'], ['failed', 'Failed']],
  formats: async () => (await serviceFacts()).formats.written,
  key: resultKey, card: resultCard, nothing, complete: withStaleness,
  isBusy: (rapid) => rapidState(rapid).kind === 'busy',
  actions: [
    { symbol: 'tag', label: 'Tag', run: (rapids) => tagSelected('rapidmodel', 'result', rapids) },
    { symbol: 'download', label: 'Download', run: downloadResults },
    { symbol: 'trash', label: 'Delete', danger: true, run: (rapids) => deleteSelected('rapidmodel', 'result', 'Their files, pictures and embeds are removed for good. The sources stay.', rapids) },
  ],
};

export const results = (view) => gallery(KIND, view);

function nothing(isNarrowed) {
  if (isNarrowed) return empty('search', 'No result matches', 'Search looks for every word in names and tags; the filters narrow it further.', null);
  return empty('results', 'No results yet', 'Open a model and choose a preset to optimize it.',
    h('a.button', { href: '#/models' }, 'All models'));
}

/** Two records with the same key look the same. */
export function resultKey(rapid) {
  return JSON.stringify([rapid.id, rapid.optimization_status, rapid.progress, rapid.processing_step, rapid.tags, rapid.stale]);
}

/** The mean similarity of the first format, 0 to 100, or null. */
export function similarity(rapid) {
  const first = Object.values(rapid.meta?.qc?.[0] ?? {})[0];
  return first?.avgScore ?? null;
}

export function resultCard(rapid) {
  const state = rapidState(rapid);
  const score = similarity(rapid);
  const facts = state.kind === 'good'
    ? [Object.keys(rapid.downloads).filter((key) => key !== 'all').join(', ').toUpperCase(), bytes(rapid.meta?.exportSize), since(rapid.created_at)]
    : [since(rapid.created_at)];
  const reason = state.kind === 'bad' ? failureOf(rapid) : null;
  return h('li.card', {},
    h('a.card-link', { href: `#/results/${rapid.id}` },
      h('div.card-picture', {}, picture(rapid.thumbnail?.first),
        state.isRunning ? progress(rapid.progress || null, `${rapid.name}: ${state.word}`) : null),
      h('div.card-text', {},
        h('h2.cut', { title: resultName(rapid) }, resultName(rapid)),
        h('p.cut', {}, rapid.preset_name ?? 'Own settings'),
        h('p.hint', {}, factLine(facts)),
        reason ? h('p.reason', { title: reason }, reason) : null,
        h('div.row.wrap', {},
          state.kind === 'good' ? null : badge(state),
          staleBadge(rapid),
          score === null ? null : h('span.badge.plain', { title: 'Similarity to the source, mean of six views' }, `Similarity ${score.toFixed(1)}`),
          warnings(rapid),
          tagList(rapid.tags)))));
}

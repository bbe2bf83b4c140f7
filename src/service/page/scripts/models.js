// The gallery of uploaded models.
import { get, serviceFacts } from './api.js';
import { badge, empty, picture, progress, tagList, since } from './cards.js';
import { h } from './dom.js';
import { uploadButton } from './drops.js';
import { assetState, bytes, factLine, shownName } from './format.js';
import { gallery } from './gallery.js';
import { later } from './later.js';
import { noted, replacedBadge, withDriveNames } from './stale.js';

const several = () => import('./several.js');

/** @type {() => import('./gallery.js').Kind} */
const kind = () => ({
  title: 'Models', one: 'model', section: 'models', api: 'rawmodel', head: uploadButton(),
  states: [['ready', 'Complete'], ['busy', 'Importing'], ['failed', 'Failed'], ['unfinished', 'Uploading']],
  formats: async () => (await serviceFacts()).formats.read.map(({ extension }) => extension),
  key: (item) => JSON.stringify([item.id, item.upload_status, item.progress, item.tags, item.name, item.has_warnings, item.replaced, Boolean(item.downloads['thumb.jpg'])]),
  card, nothing, complete: async (items) => withDriveNames(await withProgress(items)),
  isBusy: (item) => assetState(item).kind === 'busy',
  actions: [
    { symbol: 'spark', label: 'Optimize', run: later(several, 'optimizeSelected') },
    { symbol: 'tag', label: 'Tag', run: later(several, 'tagSelected', 'rawmodel', 'model') },
    { symbol: 'file', label: 'Convert', run: later(several, 'convertSelected') },
    { symbol: 'download', label: 'Download', run: later(several, 'downloadModels') },
    { symbol: 'trash', label: 'Delete', danger: true, run: later(several, 'deleteSelected', 'rawmodel', 'model', 'The uploaded files, the analyses and the embeds are removed for good: pages that show such an embed show nothing then. Results that were made from them stay.') },
  ],
});

export function models(view) {
  // Asked for beside the list, not after it.
  noted();
  return gallery(kind(), view);
}

/** Models whose progress is asked for at each turn. More would use up the requests that an account has. */
const MAX_WATCHED = 12;

/** Lists say no progress; the record of a model that is worked on does. */
function withProgress(items) {
  const watched = items.filter((item) => assetState(item).kind === 'busy').slice(-MAX_WATCHED);
  return Promise.all(items.map(async (item) => {
    if (!watched.includes(item)) return item;
    const { data } = await get(`rawmodel/${item.id}`);
    return { ...item, upload_status: data.upload_status, progress: data.progress };
  }));
}

function card(asset) {
  const state = assetState(asset);
  return h('li.card', {},
    h('a.card-link', { href: `#/models/${asset.id}` },
      h('div.card-picture', {}, picture(asset.downloads['thumb.jpg']),
        state.kind === 'busy' ? progress(asset.progress ?? null, `${asset.name}: ${state.word}`) : null),
      h('div.card-text', {},
        h('h2.cut', { title: asset.name }, shownName(asset.name)),
        h('p.hint', {}, factLine([asset.format?.toUpperCase(), state.kind === 'idle' ? null : bytes(asset.size), since(asset.created_at)])),
        state.kind === 'bad' && asset.error_message ? h('p.reason', { title: asset.error_message }, asset.error_message) : null,
        h('div.row.wrap', {}, state.kind === 'good' ? null : badge(state), replacedBadge(asset), warnings(asset), tagList(asset.tags)))));
}

/** A sign that the job warned of something, which the model's page shows. */
export const warnings = (model) => (model.has_warnings ? h('span.badge.busy', { title: 'There are warnings: see them in the model' }, 'Warnings') : null);

function nothing(isNarrowed) {
  if (isNarrowed) return empty('search', 'No model matches', 'Search looks for every word in names and tags; the filters narrow it further.', null);
  const formats = h('span');
  serviceFacts().then(({ formats: { read } }) => formats.append(` Formats: ${read.map(({ extension }) => extension).join(', ')}.`)).catch(() => {});
  return empty('cube', 'No models yet', ['Drop files, folders or zips anywhere on this page, or choose them.', formats], uploadButton('Choose files'));
}

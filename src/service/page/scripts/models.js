// The gallery of uploaded models.
import { get, query as address, serviceFacts } from './api.js';
import { KeyedList, badge, empty, pager, picture, progress, searchField, tagList } from './cards.js';
import { fill, h } from './dom.js';
import { ago, assetState, bytes } from './format.js';
import { uploadButton } from './uploads.js';

const PER_PAGE = 24;

export async function models({ place, life, query }) {
  let words = query.get('q') ?? '';
  let page = Number(query.get('page')) || 1;
  const grid = h('ul.grid', { 'aria-label': 'Models' });
  const nothing = h('div');
  const pages = h('div');
  const { formats } = await serviceFacts();
  const cards = new KeyedList(grid, card);
  const refresh = async () => {
    const found = await get(address('rawmodel', { q: words, page, itemsPerPage: PER_PAGE }));
    const items = await Promise.all(found.data.map(withProgress));
    cards.show(items.map((item) => [JSON.stringify([item.id, item.upload_status, item.progress, item.tags, item.name, Boolean(item.downloads['thumb.jpg'])]), item]));
    grid.hidden = items.length === 0;
    fill(nothing, items.length ? null : noModels(words, formats));
    fill(pages, pager(found.meta, (next) => {
      page = next;
      turn();
    }));
    return items.some((item) => assetState(item).kind === 'busy');
  };
  const turn = () => refresh().catch((problem) => fill(nothing, h('p', {}, problem.message)));
  fill(place,
    h('header.view-head', {}, h('h1', {}, 'Models'),
      searchField('Search names and tags', words, (text) => {
        words = text;
        page = 1;
        turn();
      }), uploadButton()),
    grid, nothing, pages);
  await life.keep(refresh);
}

/** Lists say no progress; the record of a model that is worked on does. */
async function withProgress(item) {
  if (assetState(item).kind !== 'busy') return item;
  const { data } = await get(`rawmodel/${item.id}`);
  return { ...item, upload_status: data.upload_status, progress: data.progress };
}

function card(asset) {
  const state = assetState(asset);
  return h('li.card', {},
    h('a.card-link', { href: `#/models/${asset.id}` },
      h('div.card-picture', {}, picture(asset.downloads['thumb.jpg']),
        state.kind === 'busy' ? progress(asset.progress ?? null, `${asset.name}: ${state.word}`) : null),
      h('div.card-text', {},
        h('h2.cut', { title: asset.name }, asset.name),
        h('p.hint', {}, [asset.format?.toUpperCase(), bytes(asset.size), ago(asset.created_at)].filter(Boolean).join(' · ')),
        h('div.row.wrap', {}, state.kind === 'good' ? null : badge(state), tagList(asset.tags)))));
}

function noModels(words, formats) {
  if (words) return empty('search', 'No model matches', 'Search looks for every word in names and tags.', null);
  const read = formats.read.map(({ extension }) => extension).join(', ');
  return empty('cube', 'No models yet', `Drop files, folders or zips anywhere on this page, or choose them. Formats: ${read}.`, uploadButton('Choose files'));
}

// A gallery of models or results: search, filters, order and page are in the address, and several can be selected. The kinds of
// galleries (models.js, results.js) say what their cards, filters and actions are.
import { get, query as queryOf } from './api.js';
import { KeyedList, pager, searchField } from './cards.js';
import { fill, h } from './dom.js';
import { counted } from './format.js';
import { icon } from './icons.js';
import { Selection } from './selection.js';

/** As many as the service gives at once at most, and enough for a large window. */
const PER_PAGE = 48;

const ORDERS = [['newest', 'Newest first'], ['oldest', 'Oldest first'], ['name', 'By name'], ['largest', 'Largest first'], ['smallest', 'Smallest first']];
const SIZES = [['-1000000', 'Up to 1 MB'], ['1000000-10000000', '1 to 10 MB'], ['10000000-100000000', '10 to 100 MB'], ['100000000-', 'Over 100 MB']];

/** The fields of the address, with their values when they are absent. */
const FIELDS = { q: '', state: '', format: '', tag: '', size: '', sort: 'newest', page: '1' };

/**
 * @typedef {{title: string, one: string, section: string, api: string, states: [string, string][], formats: () => Promise<string[]>,
 *   key: (item: any) => string, card: (item: any) => HTMLElement, isBusy: (item: any) => boolean, complete?: (items: any[]) => Promise<any[]>,
 *   nothing: (isNarrowed: boolean) => any, head?: any, actions: import('./selection.js').Action[]}} Kind
 */

/** @param {Kind} kind */
export async function gallery(kind, { place, life, query }) {
  let wish = read(query, kind);
  let isTyping = false;
  const grid = h('ul.grid', { 'aria-label': kind.title });
  const nothing = h('div');
  const pages = pager((page) => change({ page: String(page) }));
  const count = h('p.hint', { role: 'status' });
  const selection = new Selection({ kind, grid, all: (page) => list({ ...wish, page }, 50) });
  const cards = new KeyedList(grid, (item) => selection.on(item, kind.card(item)));
  const list = ({ size, page, ...rest }, itemsPerPage) => {
    const [size_from = '', size_to = ''] = size.split('-');
    return get(queryOf(kind.api, { ...rest, size_from, size_to, sort: rest.sort === 'newest' ? '' : rest.sort, page, itemsPerPage }));
  };
  const refresh = async () => {
    const asked = wish;
    const found = await list(wish, PER_PAGE);
    const items = kind.complete ? await kind.complete(found.data) : found.data;
    if (asked !== wish || life.signal.aborted) return true;
    selection.shows(items, found.meta.total);
    cards.show(items.map((item) => [kind.key(item), item]));
    grid.hidden = items.length === 0;
    fill(nothing, items.length ? null : kind.nothing(isNarrowed(wish)));
    const said = counted(found.meta.total, kind.one);
    if (count.textContent !== said) count.textContent = said;
    pages.show(found.meta);
    return items.some(kind.isBusy);
  };
  const turn = () => refresh().catch((problem) => problem.isLost || fill(nothing, h('p', {}, problem.message)));
  /** Takes a new wish. While somebody types, the address changes in place, so that Back leaves the search at once. */
  const change = (fields, typed = false) => {
    wish = { ...wish, page: '1', ...fields };
    history[typed && isTyping ? 'replaceState' : 'pushState'](null, '', addressOf(kind.section, wish));
    isTyping = typed;
    filters.show(wish);
    turn().then(() => typed || scrollTo(0, 0));
  };
  const search = searchField('Search names and tags', wish.q, (text) => change({ q: text }, true));
  const filters = filterBar(kind, wish, change);
  life.onQuery = (next) => {
    wish = read(next, kind);
    isTyping = false;
    search.querySelector('input').value = wish.q;
    filters.show(wish);
    turn();
  };
  fill(place,
    h('header.view-head', {}, h('h1', {}, kind.title), search, kind.head),
    h('div.row.wrap.apart.narrow-bar', {}, filters.element, count), grid, nothing, pages.element, selection.bar);
  selection.listen(life.signal);
  await life.keep(refresh);
}

/** What the address asks for. A choice that there is none of counts as none. */
const read = (query, kind) => {
  const known = { state: kind.states, sort: ORDERS };
  return Object.fromEntries(Object.entries(FIELDS).map(([name, value]) => {
    const asked = query.get(name) || value;
    const isKnown = known[name]?.some(([one]) => one === asked) ?? true;
    return [name, isKnown ? asked : value];
  }));
};

const isNarrowed = (wish) => ['q', 'state', 'format', 'tag', 'size'].some((name) => wish[name]);

function addressOf(section, wish) {
  const set = Object.entries(wish).filter(([name, value]) => value !== FIELDS[name]);
  return `#/${section}${set.length ? `?${new URLSearchParams(set)}` : ''}`;
}

/** The choices that narrow a gallery. Formats and tags are asked for when the gallery is there. */
function filterBar(kind, wish, change) {
  const choice = (name, label, any, options) => {
    const select = h('select.small', { 'aria-label': label, onchange: () => change({ [name]: select.value }) });
    const show = (value, known = options) => {
      const all = any ? [['', any], ...known] : known;
      if (value && !all.some(([one]) => one === value)) all.push([value, value]);
      fill(select, all.map(([one, words]) => h('option', { value: one }, words)));
      select.value = value;
      select.classList.toggle('set', Boolean(any && value));
    };
    show(wish[name]);
    return { name, select, show, take: (known) => show(select.value, options = known) };
  };
  const choices = [choice('state', 'State', 'Any state', kind.states), choice('format', 'Format', 'Any format', []), choice('tag', 'Tag', 'Any tag', []),
    choice('size', 'Size', 'Any size', SIZES), choice('sort', 'Order', null, ORDERS)];
  const named = (name) => choices.find((one) => one.name === name);
  kind.formats().then((formats) => named('format').take(formats.map((one) => [one, one.toUpperCase()]))).catch(() => {});
  const readTags = () => get(`${kind.api}/tags`).then(({ data }) => named('tag').take(data.filter(({ name }) => !/^assetfs[:-]/.test(name)).map(({ name }) => [name, name]))).catch(() => {});
  setTimeout(readTags, 300);
  named('tag').select.addEventListener('focus', readTags);
  const clear = h('button.quiet.small', { type: 'button', onclick: () => change({ state: '', format: '', tag: '', size: '', q: '' }) }, icon('close', 14), 'Clear');
  const show = (next) => {
    choices.forEach((one) => one.show(next[one.name]));
    clear.hidden = !isNarrowed(next);
  };
  show(wish);
  return { element: h('div.filters', { role: 'group', 'aria-label': 'Filter and order' }, choices.map(({ select }) => select), clear), show };
}

// Cards of models and results, and the lists around them: search, pages, empty lists.
import { fill, h } from './dom.js';
import { ago, exact } from './format.js';
import { icon } from './icons.js';
import { stable } from './pictures.js';
import { ofPeople } from './tags.js';

/** A picture of a model, or a drawing in its place. */
export function picture(url, alt = '') {
  if (!url) return h('div.no-picture', {}, icon('cube', 40));
  return h('img', { src: stable(url), alt, loading: 'lazy', decoding: 'async', onerror: (event) => {
    event.target.replaceWith(h('div.no-picture', {}, icon('cube', 40)));
  } });
}

/** How long ago a moment was. It stays true while it is shown. */
export const since = (text) => h('time', { title: exact(text), 'data-since': text ?? '' }, ago(text));

/** How often the times that are shown are written anew. */
const AGAIN_MS = 20_000;

setInterval(() => {
  for (const time of document.querySelectorAll('time[data-since]')) {
    const words = ago(time.dataset.since);
    if (time.textContent !== words) time.textContent = words;
  }
}, AGAIN_MS);

/** The state as a coloured word. */
export const badge = ({ word, kind }) => h(`span.badge.${kind}`, {}, word);

/** A bar from 0 to 100; without a number it only moves. */
export function progress(percent, label) {
  return h('progress', { max: 100, 'aria-label': label, ...(percent === null ? {} : { value: percent }) });
}

export function tagList(tags) {
  const shown = ofPeople(tags);
  return shown.length ? h('ul.tags', {}, shown.map((tag) => h('li', {}, tag.name))) : null;
}

/** A field that searches as one types. The words are kept in the address by `onSearch`. */
export function searchField(label, value, onSearch) {
  let timer = null;
  const input = h('input', { type: 'search', maxlength: 200, value, placeholder: label, 'aria-label': label, oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(() => onSearch(input.value), 250);
  } });
  return h('search.search', {}, icon('search', 18), input);
}

/**
 * The steps between the pages of a list, for as long as the list is shown: a button that is pressed or has the focus is not replaced.
 * @param {(page: number) => void} go
 */
export function pager(go) {
  let current = 1;
  const step = (label, by, symbol) => h('button', { type: 'button', onclick: () => go(current + by) },
    symbol === 'back' && icon('back', 16), label, symbol === 'next' && icon('next', 16));
  const [previous, next, words] = [step('Previous', -1, 'back'), step('Next', 1, 'next'), h('span')];
  const element = h('nav.pager', { 'aria-label': 'Pages', hidden: true }, previous, words, next);
  const show = ({ current_page: page, last_page: last }) => {
    current = page;
    const isFocused = [previous, next].includes(document.activeElement);
    previous.disabled = page <= 1;
    next.disabled = page >= last;
    // At an end, the button that has the focus cannot keep it.
    if (isFocused && document.activeElement?.disabled !== false) (next.disabled ? previous : next).focus();
    words.textContent = `Page ${page} of ${last}`;
    element.hidden = last <= 1;
  };
  return { element, show };
}

/** What stands in place of an empty list: what belongs here and how it comes here. */
export function empty(symbol, title, text, action) {
  return h('div.empty', {}, icon(symbol, 44), h('h2', {}, title), h('p', {}, text), action);
}

/**
 * Keeps a list of elements by key, so that a refresh changes only what is different and never takes the focus away.
 * @template T
 */
export class KeyedList {
  #parent;
  #build;
  #known = new Map();

  /** @param {HTMLElement} parent @param {(item: T) => HTMLElement} build */
  constructor(parent, build) {
    this.#parent = parent;
    this.#build = build;
  }

  /** @param {[string, T][]} items a key that is equal means an element that looks equal */
  show(items) {
    const next = new Map();
    const focused = document.activeElement;
    for (const [key, item] of items) next.set(key, this.#known.get(key) ?? this.#build(item));
    const isSame = next.size === this.#known.size && [...next.keys()].every((key, at) => [...this.#known.keys()][at] === key);
    this.#known = next;
    if (isSame && this.#parent.childElementCount === next.size) return;
    const href = focused && this.#parent.contains(focused) ? focused.getAttribute('href') : null;
    fill(this.#parent, [...next.values()]);
    if (href) [...this.#parent.querySelectorAll('a')].find((link) => link.getAttribute('href') === href)?.focus();
  }
}

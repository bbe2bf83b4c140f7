// Selecting several cards of a gallery, and what is done with all of them.
import { fill, h } from './dom.js';
import { counted, number } from './format.js';
import { icon } from './icons.js';
import { attempt } from './notices.js';

/**
 * `run` gets the selected items; `done` in its answer means that they are not selected any more.
 * @typedef {{symbol: string, label: string, run: (items: any[]) => Promise<{done?: boolean}|null|void>, danger?: boolean}} Action
 */

export class Selection {
  /** The toolbar, which is there while something is selected. */
  bar;
  #kind;
  #grid;
  #all;
  /** @type {Map<number, any>} */
  #chosen = new Map();
  #shown = [];
  #total = 0;
  /** Where a range begins that Shift ends. */
  #anchor = null;
  #words = h('strong', { role: 'status' });
  #more = h('button.quiet.small', { type: 'button' });

  /** @param {{kind: import('./gallery.js').Kind, grid: HTMLElement, all: (page: number) => Promise<any>}} given `all`: a page of everything that is found */
  constructor({ kind, grid, all }) {
    this.#kind = kind;
    this.#grid = grid;
    this.#all = all;
    const button = ({ symbol, label, run, danger }) => h(danger ? 'button.small.danger' : 'button.small', { type: 'button', title: label,
      onclick: (event) => attempt(event.currentTarget, async () => {
        const end = await run([...this.#chosen.values()]);
        if (end?.done) this.#clear();
      }) }, icon(symbol, 16), h('span', {}, label));
    this.#more.addEventListener('click', (event) => attempt(event.currentTarget, () => this.#everything()));
    this.bar = h('div.selection', { role: 'toolbar', 'aria-label': 'Selected', hidden: true }, this.#words, this.#more,
      h('div.row', {}, kind.actions.map(button)),
      h('button.quiet.icon-only', { type: 'button', 'aria-label': 'Select nothing', onclick: () => this.#clear() }, icon('close', 18)));
  }

  /** Adds the box that selects to the card of `item`. */
  on(item, card) {
    const box = h('input', { type: 'checkbox', 'aria-label': `Select ${item.name}`, 'data-id': item.id, checked: this.#chosen.has(item.id) });
    box.addEventListener('click', (event) => {
      const range = event.shiftKey ? this.#range(item.id) : [item];
      for (const one of range) this.#set(one, box.checked);
      this.#anchor = item.id;
      this.#update();
    });
    card.append(h('label.select', {}, box));
    return card;
  }

  /** Says what the gallery shows now. */
  shows(items, total) {
    this.#shown = items;
    this.#total = total;
    for (const item of items) if (this.#chosen.has(item.id)) this.#chosen.set(item.id, item);
    this.#update();
  }

  listen(signal) {
    addEventListener('keydown', (event) => {
      const isElsewhere = event.target.closest?.('input:not([type=checkbox]), textarea, dialog');
      if (isElsewhere) return;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'a' && this.#shown.length) {
        event.preventDefault();
        for (const item of this.#shown) this.#set(item, true);
        this.#update();
      } else if (event.key === 'Escape' && this.#chosen.size) {
        this.#clear();
      }
    }, { signal });
  }

  #range(to) {
    const place = (id) => this.#shown.findIndex((item) => item.id === id);
    const ends = [place(this.#anchor), place(to)].sort((one, two) => one - two);
    return ends[0] < 0 ? [this.#shown[ends[1]]] : this.#shown.slice(ends[0], ends[1] + 1);
  }

  #set(item, isChosen) {
    if (isChosen) this.#chosen.set(item.id, item);
    else this.#chosen.delete(item.id);
  }

  #clear() {
    this.#chosen.clear();
    this.#anchor = null;
    this.#update();
  }

  /** Selects what is found on all pages. */
  async #everything() {
    for (let page = 1, last = 1; page <= last; page += 1) {
      const found = await this.#all(page);
      last = found.meta.last_page;
      for (const item of found.data) this.#set(item, true);
    }
    this.#update();
  }

  #update() {
    const count = this.#chosen.size;
    this.bar.hidden = count === 0;
    this.#grid.classList.toggle('selecting', count > 0);
    const shown = this.#shown.filter(({ id }) => this.#chosen.has(id)).length;
    const elsewhere = count > shown ? `, ${number(count - shown)} not shown here` : '';
    if (count) fill(this.#words, `${counted(count, this.#kind.one)} selected${elsewhere}`);
    const isAll = this.#shown.length > 0 && this.#shown.every(({ id }) => this.#chosen.has(id));
    this.#more.hidden = !isAll || this.#total <= count;
    this.#more.textContent = `Select all ${number(this.#total)}`;
    for (const box of this.#grid.querySelectorAll('.select input')) {
      box.checked = this.#chosen.has(Number(box.dataset.id));
      box.closest('.card').classList.toggle('chosen', box.checked);
    }
  }
}

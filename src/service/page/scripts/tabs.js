// A row of choices of which one is chosen, as tabs.
import { h } from './dom.js';

let count = 0;

/** @param {string} legend @param {[string, string][]} options value and label @param {(value: string) => void} choose */
export function tabs(legend, options, chosen, choose) {
  const name = `tabs-${count += 1}`;
  return h('fieldset.tabs', {}, h('legend.unseen', {}, legend), options.map(([value, label]) => h('label', {},
    h('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => choose(value) }), h('span', {}, label))));
}

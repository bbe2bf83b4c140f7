// The presets of the account, and those of the factory by category.
import { download, get, remove } from './api.js';
import { empty, since } from './cards.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { ask, attempt, say } from './notices.js';
import { summary } from './preset_summary.js';

export async function presets({ place, life }) {
  const own = h('ul.preset-list', { 'aria-label': 'Your presets' });
  const none = h('div');
  const refresh = async () => {
    const mine = await get('preset');
    fill(own, mine.map((preset) => ownRow(preset, refresh)));
    own.hidden = mine.length === 0;
    fill(none, mine.length ? null : empty('presets', 'No presets of your own yet', 'Start from nothing, or duplicate one of the factory and change it.', null));
    return false;
  };
  const [factory, categories] = await Promise.all([get('preset/factory'), get('preset/categories')]);
  fill(place,
    h('header.view-head', {}, h('h1', {}, 'Presets'), newButton()),
    h('section', { 'aria-labelledby': 'own-title' }, h('h2', { id: 'own-title' }, 'Your presets'), own, none),
    h('section', { 'aria-labelledby': 'factory-title' }, h('h2', { id: 'factory-title' }, 'Factory presets'),
      categories.map((category) => {
        const inside = factory.filter((preset) => preset.category_id === category.id);
        return inside.length ? [h('h3', {}, category.name), h('p.hint', {}, category.description), h('ul.preset-list', {}, inside.map(factoryRow))] : null;
      })));
  await life.keep(refresh);
}

const newButton = () => h('a.button.primary', { href: '#/presets/new' }, icon('plus', 18), h('span', {}, 'New preset'));

function row(preset, actions, note) {
  return h('li', {},
    h('div', {}, h('h3', {}, h('a', { href: `#/presets/${preset.id}` }, preset.name)),
      preset.description ? h('p.hint', {}, preset.description) : null, summary(preset.config), note),
    h('div.row', {}, actions));
}

const duplicate = (preset) => h('a.button.small', { href: `#/presets/new?from=${preset.id}`, 'aria-label': `Duplicate ${preset.name}` }, icon('copy', 16), h('span', {}, 'Duplicate'));

const factoryRow = (preset) => row(preset, [duplicate(preset)]);

function ownRow(preset, refresh) {
  const drop = async () => {
    const sure = await ask({ title: `Delete ${preset.name}?`, danger: true, action: 'Delete the preset',
      body: h('p', {}, 'Results that were made with it stay as they are.'), submit: () => remove(`preset/${preset.id}`) });
    if (sure === null) return;
    say(`${preset.name} was deleted.`);
    await refresh();
  };
  return row(preset, [
    h('button.small', { type: 'button', 'aria-label': `Download ${preset.name}`, onclick: (event) => attempt(event.currentTarget, () => download(`preset/${preset.id}/download`, `${preset.name}.zip`)) }, icon('download', 16)),
    duplicate(preset),
    h('button.small', { type: 'button', 'aria-label': `Delete ${preset.name}`, onclick: (event) => attempt(event.currentTarget, drop) }, icon('trash', 16)),
  ], h('p.hint', {}, 'Changed ', since(preset.updated_at)));
}

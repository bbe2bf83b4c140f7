// The dialog that optimizes a model: a preset of the account or of the factory, tags and a name for the result.
import { get, post } from './api.js';
import { Problem } from './api.js';
import { h } from './dom.js';
import { changed } from './live.js';
import { ask, say } from './notices.js';

export async function optimize(asset) {
  const [own, factory, categories, points] = await Promise.all([
    get('preset'), get('preset/factory'), get('preset/categories'), get('user/rapidpoints')]);
  const groups = categories.map(({ id, name }) => [name, factory.filter((preset) => preset.category_id === id)]);
  const rest = factory.filter((preset) => !categories.some(({ id }) => id === preset.category_id));
  const choice = (preset, isFirst) => h('label.preset-choice', {},
    h('input', { type: 'radio', name: 'preset', value: preset.id, required: true, checked: isFirst }),
    h('span', {}, h('strong', {}, preset.name), h('span.hint', {}, preset.description)));
  const first = own[0] ?? factory[0];
  const group = ([name, presets]) => presets.length > 0 && h('fieldset.preset-group', {}, h('legend', {}, name),
    presets.map((preset) => choice(preset, preset === first)));
  const started = await ask({
    title: `Optimize ${asset.name}`, action: 'Optimize', wide: true,
    body: [
      h('div.preset-choices', {}, [['Your presets', own], ...groups, ['Other', rest]].map(group)),
      h('div.columns', {},
        h('label.field', {}, h('span', {}, 'Name of the files'), h('input', { name: 'exportName', placeholder: asset.name, maxlength: 200 })),
        h('label.field', {}, h('span', {}, 'Tags, with commas'), h('input', { name: 'tags' }))),
      h('p.hint', {}, `Costs 1 of ${points.rapidpoints.toLocaleString('en')} points.`),
    ],
    submit: async (form) => {
      const fields = new FormData(form);
      const preset = Number(fields.get('preset'));
      if (!preset) throw new Problem('Choose a preset.');
      const tags = fields.get('tags').split(',').map((tag) => tag.trim()).filter(Boolean);
      const name = fields.get('exportName').trim();
      return post(`rawmodel/optimize/${asset.id}`, { preset_id: preset, ...(tags.length ? { tags } : {}), ...(name ? { exportName: name } : {}) });
    },
  });
  if (started === null) return;
  say('The optimization is in the queue.');
  changed();
}

// The dialog that optimizes one model or several: a preset of the account or of the factory, tags and a name for the result.
import { Problem, get, paidOnce } from './api.js';
import { h } from './dom.js';
import { counted, number } from './format.js';
import { changed } from './live.js';
import { ask, say } from './notices.js';

export async function optimize(asset) {
  const start = paidOnce();
  const name = h('label.field', {}, h('span', {}, 'Name of the files'), h('input', { name: 'exportName', placeholder: asset.name, maxlength: 200 }));
  const started = await choosePreset({ title: `Optimize ${asset.name}`, count: 1, name, submit: ({ preset, tags, fields }) => {
    const exportName = fields.get('exportName').trim();
    return start(`rawmodel/optimize/${asset.id}`, { preset_id: preset, ...(tags.length ? { tags } : {}), ...(exportName ? { exportName } : {}) });
  } });
  if (started === null) return;
  say('The optimization is in the queue.');
  changed();
}

/** @param {any[]} assets ready ones @param {number} left how many were left out */
export async function optimizeAll(assets, left) {
  const start = paidOnce();
  const started = await choosePreset({ title: `Optimize ${counted(assets.length, 'model')}`, count: assets.length,
    note: left ? `${counted(left, 'model')} that ${left === 1 ? 'is' : 'are'} not ready ${left === 1 ? 'is' : 'are'} left out.` : '',
    submit: async ({ preset, tags }) => {
      const config = { preset_id: preset, ...(tags.length ? { tags } : {}) };
      await start('rawmodel/optimize', { optimizations: assets.map(({ id }) => ({ model_id: id, config })) });
      return true;
    } });
  if (started === null) return null;
  say(`${counted(assets.length, 'optimization')} ${assets.length === 1 ? 'is' : 'are'} in the queue.`);
  changed();
  return { done: true };
}

async function choosePreset({ title, count, name = null, note = '', submit }) {
  const [own, factory, categories, points] = await Promise.all([
    get('preset'), get('preset/factory'), get('preset/categories'), get('user/rapidpoints')]);
  const groups = categories.map(({ id, name: category }) => [category, factory.filter((preset) => preset.category_id === id)]);
  const rest = factory.filter((preset) => !categories.some(({ id }) => id === preset.category_id));
  const choice = (preset, isFirst) => h('label.preset-choice', {},
    h('input', { type: 'radio', name: 'preset', value: preset.id, required: true, checked: isFirst }),
    h('span', {}, h('strong', {}, preset.name), h('span.hint', {}, preset.description)));
  const first = own[0] ?? factory[0];
  const group = ([category, presets]) => presets.length > 0 && h('fieldset.preset-group', {}, h('legend', {}, category),
    presets.map((preset) => choice(preset, preset === first)));
  return ask({
    title, action: 'Optimize', wide: true,
    body: [
      h('div.preset-choices', {}, [['Your presets', own], ...groups, ['Other', rest]].map(group)),
      h('div.columns', {}, name, h('label.field', {}, h('span', {}, 'Tags, separated by commas'), h('input', { name: 'tags' }))),
      h('p.hint', {}, `Costs ${number(count)} of ${number(points.rapidpoints)} points. ${note}`),
    ],
    submit: (form) => {
      const fields = new FormData(form);
      const preset = Number(fields.get('preset'));
      if (!preset) throw new Problem('Choose a preset.');
      return submit({ preset, tags: fields.get('tags').split(',').map((tag) => tag.trim()).filter(Boolean), fields });
    },
  });
}

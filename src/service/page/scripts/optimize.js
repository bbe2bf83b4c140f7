// The dialog that optimizes one model or several: a preset of the account or of the factory, tags and a name for the result.
import { Problem, get, getIfThere, paidOnce } from './api.js';
import { h } from './dom.js';
import { counted, moment, number, rapidState } from './format.js';
import { changed } from './live.js';
import { ask, say } from './notices.js';
import { withStaleness } from './stale.js';
import { tagsIn } from './tags.js';

/** Maximum number of models whose results are looked up before they are optimized: each is a request. */
const LOOKED_UP = 20;

export async function optimize(asset) {
  const start = paidOnce();
  const name = h('label.field', {}, h('span', {}, 'Name of the files'), h('input', { name: 'exportName', placeholder: asset.name, maxlength: 200 }));
  const started = await choosePreset({ title: `Optimize ${asset.name}`, assets: [asset], name, submit: ({ preset, tags, fields }) => {
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
  const started = await choosePreset({ title: `Optimize ${counted(assets.length, 'model')}`, assets,
    note: left ? `${counted(left, 'model')} that ${left === 1 ? 'is' : 'are'} not ready ${left === 1 ? 'is' : 'are'} left out.` : '',
    submit: async ({ preset, tags }) => {
      const config = { preset_id: preset, ...(tags.length ? { tags } : {}) };
      await start('rawmodel/optimize', { optimizations: assets.map(({ id }) => ({ model_id: id, config })) });
      return true;
    } });
  if (started === null) return null;
  say(`${counted(assets.length, 'optimization')} ${assets.length === 1 ? 'is' : 'are'} in the queue.`);
  changed();
  return null;
}

/** The results of each model that are done or on their way, and not stale. */
async function resultsOf(assets) {
  if (assets.length > LOOKED_UP) return [];
  return Promise.all(assets.map(async ({ id }) => {
    const found = await getIfThere(`rawmodel/${id}/rapidmodels`).catch(() => null);
    return (await withStaleness(found?.data ?? [])).filter((rapid) => !rapid.stale && rapidState(rapid).kind !== 'bad');
  }));
}

/** By the id of a preset, how many models have a result of it. @param {any[][]} results of each model */
function madeWith(results, own) {
  const made = new Map();
  // A result that is older than the last change of its preset is not what the preset makes now.
  const changedAt = new Map(own.map(({ id, updated_at: at }) => [id, at]));
  for (const ofModel of results) {
    const ofNow = ofModel.filter((rapid) => !(moment(changedAt.get(rapid.preset_id)) > moment(rapid.created_at)));
    for (const preset of new Set(ofNow.map((rapid) => rapid.preset_id))) made.set(preset, (made.get(preset) ?? 0) + 1);
  }
  return made;
}

/** @param {number} made how many of the models have a result of a preset @param {number} count of the models */
function alreadyMade(made, count) {
  const words = count === 1 ? 'There is a result of this preset already. Another one costs a point.'
    : `${number(made)} of these models ${made === 1 ? 'has' : 'have'} a result of this preset already. All of them would be optimized, for a point each.`;
  return h('span.hint.made', {}, words);
}

async function choosePreset({ title, assets, name = null, note = '', submit }) {
  const count = assets.length;
  const [own, factory, categories, points, results] = await Promise.all([
    get('preset'), get('preset/factory'), get('preset/categories'), get('user/rapidpoints'), resultsOf(assets)]);
  const made = madeWith(results, own);
  const groups = categories.map(({ id, name: category }) => [category, factory.filter((preset) => preset.category_id === id)]);
  const rest = factory.filter((preset) => !categories.some(({ id }) => id === preset.category_id));
  const choice = (preset, isFirst) => h('label.preset-choice', {},
    h('input', { type: 'radio', name: 'preset', value: preset.id, required: true, checked: isFirst, autofocus: isFirst }),
    h('span', {}, h('strong', {}, preset.name), h('span.hint', {}, preset.description),
      made.has(preset.id) && alreadyMade(made.get(preset.id), count)));
  // A preset that nobody chose is only offered while nothing was made: another one costs a point.
  const first = made.size ? null : [...own, ...factory][0];
  const group = ([category, presets]) => presets.length > 0 && h('fieldset.preset-group', {}, h('legend', {}, category),
    presets.map((preset) => choice(preset, preset === first)));
  return ask({
    title, action: 'Optimize', wide: true,
    body: [
      h('div.preset-choices', {}, [['Your presets', own], ...groups, ['Other', rest]].map(group)),
      h('div.columns', {}, name, h('label.field', {}, h('span', {}, 'Tags, separated by commas'), h('input', { name: 'tags' }))),
      h('p.hint', {}, `Costs ${number(count)} of ${number(points.rapidpoints)} points. ${note}${count > LOOKED_UP ? ` Whether there are results already is only looked up for up to ${LOOKED_UP} models.` : ''}`),
    ],
    submit: (form) => {
      const fields = new FormData(form);
      const preset = Number(fields.get('preset'));
      if (!preset) throw new Problem('Choose a preset.');
      return submit({ preset, tags: tagsIn(fields.get('tags')), fields });
    },
  });
}

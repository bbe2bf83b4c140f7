// Trying the settings of the preset editor on a model before they are saved. The service has no free try: it is an optimization
// like others and costs a point, so it is asked for each time.
import { get, paidOnce, query, remove } from './api.js';
import { Problem } from './api.js';
import { picture, progress, searchField } from './cards.js';
import { fill, h } from './dom.js';
import { bytes, change, failureOf, number, rapidState } from './format.js';
import { icon } from './icons.js';
import { ask, attempt, problemBox, say } from './notices.js';
import { reportOf, formatsOf } from './sides.js';
import { withDriveNames } from './stale.js';

/** How many models the dialog offers. */
const OFFERED = 8;
const LOOK_MS = 1_200;

/**
 * The part of the editor that tries its settings.
 * @param {{config: () => any, signal: AbortSignal}} given `config` throws if the settings cannot be sent
 */
export function preview({ config, signal }) {
  const place = h('div.preview');
  let tried = null;
  const outdated = h('p.hint', { hidden: true }, 'The settings were changed since. Try them again to see the difference.');
  const button = h('button', { type: 'button', onclick: () => attempt(button, start) }, icon('spark', 18), h('span', {}, 'Try on a model'));
  const start = async () => {
    const wanted = config();
    const chosen = await chooseModel(wanted);
    if (chosen === null) return;
    tried = JSON.stringify(wanted);
    outdated.hidden = true;
    watch(chosen.id).catch((problem) => fill(place, problemBox(problem)));
  };
  const watch = async (id) => {
    const bar = progress(null, 'Preview');
    const words = h('p', { role: 'status' });
    fill(place, words, bar);
    while (!signal.aborted) {
      const { data: rapid } = await get(`rapidmodel/${id}`).catch((problem) => (problem.isLost ? { data: null } : Promise.reject(problem)));
      const state = rapid && rapidState(rapid);
      if (state && state.kind !== 'busy') return show(rapid, state);
      if (state && words.textContent !== state.word) words.textContent = state.word;
      if (rapid?.progress) bar.value = rapid.progress;
      await new Promise((resume) => setTimeout(resume, LOOK_MS));
    }
    return undefined;
  };
  const show = async (rapid, state) => {
    if (state.kind === 'bad') {
      fill(place, problemBox({ message: failureOf(rapid) ?? 'The optimization failed.' }));
      return;
    }
    const [format] = formatsOf(rapid);
    const report = await reportOf(rapid, format);
    const drop = async () => {
      await remove(`rapidmodel/${rapid.id}`);
      fill(place);
      say('The preview was deleted.');
    };
    const fact = (name, value) => h('div', {}, h('strong', {}, value), h('span', {}, name));
    fill(place, h('div.preview-result', {}, picture(rapid.overview ?? rapid.thumbnail?.first, `${rapid.name} with these settings`),
      h('div', {}, h('h3', {}, rapid.name),
        report && h('div.score', {},
          fact(`of ${bytes(report.source.bytes)}`, bytes(report.size)), fact('Size', change(report.source.bytes, report.size)),
          fact('Similarity', report.avgScore?.toFixed(1) ?? '–'), fact(`of ${number(report.source.triangles)} triangles`, number(report.result.triangles))),
        (report?.warnings ?? []).map((line) => h('p.hint', {}, line)), outdated,
        h('div.row.wrap', {}, h('a.button.small', { href: `#/results/${rapid.id}`, target: '_blank' }, icon('open', 16), 'Compare in a new tab'),
          h('button.small', { type: 'button', onclick: (event) => attempt(event.currentTarget, drop) }, icon('trash', 16), 'Delete the preview')))));
  };
  const element = h('section.preview-part', { 'aria-labelledby': 'preview-title' },
    h('div.row.apart.wrap', {}, h('h2', { id: 'preview-title' }, 'Preview'), button), place);
  /** To be called when the settings change. */
  const touched = (now) => { outdated.hidden = tried === null || JSON.stringify(now) === tried; };
  return { element, touched };
}

/** What was tried since the page was loaded: settings and model. */
const triedBefore = new Set();

/** Asks for the model and for the point; resolves with the optimization that was started, or null. */
async function chooseModel(config) {
  const wish = (model) => JSON.stringify([config, model]);
  const list = h('div.model-choices');
  const show = async (words) => {
    const found = await get(query('rawmodel', { q: words, state: 'ready', itemsPerPage: OFFERED }));
    const data = await withDriveNames(found.data);
    const more = found.meta.total - data.length;
    fill(list, data.map((asset, at) => h('label.preset-choice', {}, h('input', { type: 'radio', name: 'model', value: asset.id, required: true, checked: at === 0 }),
      picture(asset.downloads['thumb.jpg']), h('span', {}, h('strong', {}, asset.name), h('span.hint', {}, `${asset.format.toUpperCase()} · ${bytes(asset.size)}`),
        triedBefore.has(wish(asset.id)) && h('span.hint.made', {}, 'These settings were tried on it already. The result is among the results. Another try costs a point.')))),
    more > 0 && h('p.hint', {}, `${number(more)} more. Search for the one that you want.`),
    data.length ? null : h('p.hint', {}, words ? 'No model matches.' : 'There is no model yet. Upload one first.'));
  };
  const [points] = await Promise.all([get('user/rapidpoints'), show('')]);
  const start = paidOnce();
  return ask({
    title: 'Try the settings on a model', action: 'Try for 1 point', wide: true,
    body: [searchField('Search models', '', (words) => show(words).catch((problem) => fill(list, h('p.hint', {}, problem.message)))), list,
      h('p.hint', {}, `A try is an optimization: it costs 1 of ${number(points.rapidpoints)} points, and its result is kept among the results until it is deleted. The preset is not saved by it.`)],
    submit: async (form) => {
      const model = Number(new FormData(form).get('model'));
      if (!model) throw new Problem('Choose a model.');
      const started = await start(`rawmodel/optimize/${model}`, { config, tags: ['preview'] });
      triedBefore.add(wish(model));
      return started;
    },
  });
}

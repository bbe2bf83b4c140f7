// One optimized model beside its source: pictures, numbers, files, and what can be done with it.
import { download, get, getIfThere, remove } from './api.js';
import { badge, progress } from './cards.js';
import { comparison } from './compare.js';
import { fill, h, refill } from './dom.js';
import { ago, bytes, change, exact, failureOf, number, rapidState, stepOf } from './format.js';
import { createEmbed } from './embed_dialog.js';
import { icon } from './icons.js';
import { logs } from './logs.js';
import { epoch } from './pictures.js';
import { formatsOf, reportOf, resultSide, sourceSide } from './sides.js';
import { ask, attempt, problemBox, say } from './notices.js';
import { linkButton } from './share.js';
import { staleBadge, staleLine, withStaleness } from './stale.js';
import { tagEditor } from './tags.js';

export async function result({ place, life, id }) {
  const head = h('header.view-head');
  const body = h('div.result');
  const tags = h('div');
  let shown = '';
  let shownTags = '';
  let signedIn = epoch();
  /** Takes over the new addresses of a record without showing everything anew. */
  let renew = null;
  const refresh = async () => {
    const [rapid] = await withStaleness([(await get(`rapidmodel/${id}`)).data]);
    if (JSON.stringify(rapid.tags) !== shownTags) {
      shownTags = JSON.stringify(rapid.tags);
      refill(tags, tagEditor(rapid.tags, `rapidmodel/${rapid.id}`));
    }
    const key = JSON.stringify([rapid.optimization_status, rapid.progress, rapid.processing_step, rapid.stale]);
    if (key === shown) {
      if (signedIn !== epoch()) await renew?.(rapid);
      signedIn = epoch();
      return rapidState(rapid).kind === 'busy';
    }
    shown = key;
    renew = null;
    showHead(head, rapid);
    const state = rapidState(rapid);
    if (state.kind === 'good') renew = await showDone(body, rapid, tags, life.signal);
    else if (state.kind === 'bad') showFailed(body, rapid);
    else showBusy(body, rapid, state);
    return state.kind === 'busy';
  };
  fill(place, head, body);
  await life.keep(refresh);
}

function showHead(head, rapid) {
  const state = rapidState(rapid);
  const source = rapid.rawmodel;
  const canEmbed = Boolean(rapid.downloads.glb);
  fill(head,
    h('div.title', {}, h('a.up', { href: source ? `#/models/${source.id}` : '#/results' }, icon('back', 16), source?.name ?? 'Results'),
      h('h1', {}, rapid.preset_name ? `${rapid.name} – ${rapid.preset_name}` : rapid.name), state.kind === 'good' ? staleBadge(rapid) : badge(state)),
    h('div.row.wrap', {},
      h('button.primary', { type: 'button', disabled: !canEmbed, title: canEmbed ? null : 'A viewer needs a glb among the files.', onclick: (event) => attempt(event.currentTarget, () => createEmbed({ rapid })) }, icon('embeds', 18), h('span', {}, 'Embed')),
      h('button', { type: 'button', onclick: (event) => attempt(event.currentTarget, () => download(`rapidmodel/${rapid.id}/download/preset`, `${rapid.name} preset.zip`)) }, icon('presets', 18), h('span', {}, 'Settings')),
      linkButton(rapid.name),
      h('button', { type: 'button', onclick: (event) => attempt(event.currentTarget, () => deleteResult(rapid)) }, icon('trash', 18), h('span', {}, 'Delete'))));
}

async function deleteResult(rapid) {
  const sure = await ask({ title: `Delete this result of ${rapid.name}?`, danger: true, action: 'Delete the result',
    body: h('p', {}, 'Its files, pictures and embeds are removed for good. The source stays.'), submit: () => remove(`rapidmodel/${rapid.id}`) });
  if (sure === null) return;
  say('The result was deleted.');
  location.hash = rapid.rawmodel ? `#/models/${rapid.rawmodel.id}` : '#/results';
}

function showBusy(body, rapid, state) {
  if (!body.querySelector('.stage-wait')) {
    fill(body, h('div.stage-wait', {}, icon('spark', 56), h('p', { role: 'status' }), progress(null, 'Optimization')));
  }
  const words = body.querySelector('[role=status]');
  const step = stepOf(rapid);
  const said = step ? `${state.word}: ${step}` : state.word;
  if (words.textContent !== said) words.textContent = said;
  if (rapid.progress) body.querySelector('progress').value = rapid.progress;
}

function showFailed(body, rapid) {
  fill(body, problemBox({ message: failureOf(rapid) ?? 'The optimization failed.' },
    h('div', {}, h('p.hint', {}, 'Change the preset or the model, then optimize again. The log has the details.'),
      rapid.rawmodel ? h('a.button', { href: `#/models/${rapid.rawmodel.id}` }, 'To the model') : null)),
    logs({ error: rapid.rpd_error, warning: rapid.rpd_warnings }));
}

async function showDone(body, rapid, tags, signal) {
  const formats = formatsOf(rapid);
  const [renders, asset, related, reports] = await Promise.all([
    getIfThere(`rapidmodel/${rapid.id}/renders`),
    rapid.rawmodel && getIfThere(`rawmodel/${rapid.rawmodel.id}`),
    rapid.rawmodel && getIfThere(`rawmodel/${rapid.rawmodel.id}/rapidmodels`),
    Promise.all(formats.map((format) => reportOf(rapid, format)))]);
  if (signal.aborted) return null;
  const byFormat = new Map(formats.map((format, at) => [format, reports[at]]));
  const numbers = h('section.facts', { 'aria-labelledby': 'numbers-title' });
  const showNumbers = (format) => fill(numbers, h('h2', { id: 'numbers-title' }, 'Numbers'), table(byFormat.get(format)));
  showNumbers(formats[0]);
  const fileList = h('div', {}, files(rapid));
  const warnings = [...new Set(reports.flatMap((report) => report?.warnings ?? []))];
  const side = h('div.side-column', {}, staleLine(rapid), numbers,
    warnings.length ? h('section.warnings', {}, h('h2', {}, 'Warnings'), h('ul', {}, warnings.map((line) => h('li', {}, line)))) : null,
    h('section', {}, h('h2', {}, 'Files'), fileList),
    h('section', {}, h('h2', {}, 'Tags'), tags),
    h('p.hint', {}, 'Made ', h('time', { title: exact(rapid.created_at) }, ago(rapid.created_at)), ` by engine ${rapid.engine_core_version}.`));
  const pictures = comparison({
    rapid, formats, signal, onFormat: showNumbers,
    source: sourceSide({ asset: asset?.data, renders, report: reports[0] }),
    sideOf: (format) => resultSide({ label: rapid.preset_name ?? 'Result', rapid, format, renders, report: byFormat.get(format) }),
    heatOf: (format, view) => renders?.[`${format}-${view}__diff.png`] ?? null,
    others: (related?.data ?? []).filter((other) => other.id !== rapid.id && rapidState(other).kind === 'good'),
  });
  fill(body, h('div.split.wide-left', {}, pictures, side));
  return async (fresh) => {
    Object.assign(rapid, fresh);
    if (renders) Object.assign(renders, await getIfThere(`rapidmodel/${rapid.id}/renders`));
    if (asset) Object.assign(asset.data, (await getIfThere(`rawmodel/${asset.data.id}`))?.data);
    fill(fileList, files(rapid));
  };
}

/**
 * A result that saves less than this part of the source's bytes has gained nothing that anybody notices: MIN_GAIN_PERCENT of
 * crates/engine/src/job/gain.rs.
 */
const MIN_GAIN = 0.02;

/** The numbers before and after. */
function table(report) {
  if (!report) return h('p.hint', {}, 'There is no report for this result.');
  const { source, result: made } = report;
  const rows = [
    ['Triangles', source.triangles, made.triangles, number],
    ['Vertices', source.vertices, made.vertices, number],
    ['Meshes', source.meshes, made.meshes, number],
    ['Materials', source.materials, made.materials, number],
    ['Textures', source.textures, made.textures, number],
    ['Largest texture', source.largest_texture, made.largest_texture, (pixels) => `${number(pixels)} px`],
    ['Size', source.bytes, report.size, bytes],
  ];
  const line = ([name, before, after, write]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, write(before)), h('td', {}, write(after)),
    h(after < before ? 'td.less' : 'td', {}, change(before, after), name === 'Size' && after > before * (1 - MIN_GAIN) && noGain(before, after)));
  return [
    h('div.score', {}, score('Similarity', report.avgScore, 'mean of six views; 100 is equal'), score('Size', null, '', change(source.bytes, report.size)), score('Triangles', null, '', change(source.triangles, made.triangles))),
    h('table.numbers', {}, h('caption.unseen', {}, 'Source and result in numbers'),
      h('thead', {}, h('tr', {}, h('td', {}), h('th', { scope: 'col' }, 'Before'), h('th', { scope: 'col' }, 'After'), h('th', { scope: 'col' }, 'Change'))),
      h('tbody', {}, rows.map(line))),
  ];
}

const noGain = (before, after) => h('p', {}, h('span.badge.busy', { title: `${after > before ? 'Larger' : 'Hardly smaller'} than the source. If the settings ask for less, the warnings say why.` },
  after > before ? 'Larger' : 'No gain'));

function score(name, value, note, words) {
  const shown = words ?? (value === null || value === undefined ? '–' : value.toFixed(1));
  return h('div', { title: note || null }, h('strong', {}, shown), h('span', {}, name));
}

function files(rapid) {
  const all = Object.entries(rapid.downloads.all);
  return h('ul.files', {}, all.map(([name, url]) => h('li', {},
    h('a', { href: url, download: name.split('/').pop() }, icon('download', 16), h('span.cut', {}, name)))));
}

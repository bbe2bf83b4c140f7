// One optimized model beside its source: pictures, numbers, files, and what can be done with it.
import { Problem, get, getIfThere, remove } from './api.js';
import { badge, progress, since } from './cards.js';
import { comparison } from './compare.js';
import { fill, h, refill } from './dom.js';
import { bytes, change, failureOf, isLess, number, rapidState, stepOf } from './format.js';
import { createEmbed } from './embed_dialog.js';
import { icon } from './icons.js';
import { logs } from './logs.js';
import { epoch } from './pictures.js';
import { formatsOf, labelOf, reportOf, resultSide, sourceSide } from './sides.js';
import { ask, attempt, problemBox, say } from './notices.js';
import { downloadResults } from './several.js';
import { showSettings } from './settings.js';
import { linkButton } from './share.js';
import { staleBadge, staleLine, withDriveNames, withStaleness } from './stale.js';
import { resultName, tagEditor } from './tags.js';
import { leftWords, timesLeft } from './time_left.js';

export async function result({ place, life, id, query }) {
  const head = h('header.view-head');
  const body = h('div.result');
  const tags = h('div');
  let shown = '';
  let shownTags = '';
  let signedIn = epoch();
  /** What is shown of a finished result. @type {{renew: (rapid: any) => Promise<void>, learn: () => Promise<void>}|null} */
  let done = null;
  const asked = { partner: Number(query.get('with')) || null };
  const refresh = async () => {
    const [rapid] = await withStaleness([(await get(`rapidmodel/${id}`)).data]);
    if (JSON.stringify(rapid.tags) !== shownTags) {
      shownTags = JSON.stringify(rapid.tags);
      refill(tags, tagEditor(rapid.tags, `rapidmodel/${rapid.id}`));
    }
    const left = rapidState(rapid).kind === 'busy' ? leftWords((await timesLeft()).results[id]) : null;
    const key = JSON.stringify([rapid.optimization_status, rapid.progress, rapid.processing_step, rapid.stale, left]);
    if (key === shown) {
      if (signedIn !== epoch()) await done?.renew(rapid);
      signedIn = epoch();
      await done?.learn();
      return rapidState(rapid).kind === 'busy';
    }
    shown = key;
    done = null;
    const [source] = await withDriveNames(rapid.rawmodel ? [rapid.rawmodel] : []);
    showHead(head, rapid, source);
    const state = rapidState(rapid);
    if (state.kind === 'good') done = await showDone(body, rapid, tags, asked, life.signal);
    else if (state.kind === 'bad') showFailed(body, rapid);
    else showBusy(body, rapid, state, left);
    return state.kind === 'busy';
  };
  fill(place, head, body);
  await life.keep(refresh);
}

function showHead(head, rapid, source) {
  const state = rapidState(rapid);
  const canEmbed = Boolean(rapid.downloads.glb);
  const hasFiles = Object.keys(rapid.downloads.all ?? {}).length > 0;
  const button = (symbol, label, action, { kind = 'button', disabled = false } = {}) => h(kind, { type: 'button', disabled,
    onclick: (event) => attempt(event.currentTarget, action) }, icon(symbol, 18), h('span', {}, label));
  fill(head,
    h('div.title', {}, h('a.up', { href: source ? `#/models/${source.id}` : '#/results' }, icon('back', 16), source?.name ?? 'Results'),
      h('h1', {}, titleOf(rapid)), state.kind === 'good' ? staleBadge(rapid) : badge(state)),
    h('div.row.wrap', {},
      button('download', 'Download', () => downloadResults([rapid]), { kind: 'button.primary', disabled: !hasFiles }),
      button('embeds', 'Embed', () => {
        if (!canEmbed) throw new Problem('A viewer needs a glb among the files. Use a preset that exports one.');
        return createEmbed({ rapid });
      }),
      button('presets', 'Settings', () => showSettings(rapid, titleOf(rapid))),
      linkButton(resultName(rapid)),
      button('trash', 'Delete', () => deleteResult(rapid))));
}

const titleOf = (rapid) => (rapid.preset_name ? `${resultName(rapid)} – ${rapid.preset_name}` : resultName(rapid));

async function deleteResult(rapid) {
  const sure = await ask({ title: `Delete the result ${titleOf(rapid)}?`, danger: true, action: 'Delete the result',
    body: h('p', {}, 'Its files, pictures and embeds are removed for good. The source stays.'), submit: () => remove(`rapidmodel/${rapid.id}`) });
  if (sure === null) return;
  say('The result was deleted.');
  location.hash = rapid.rawmodel ? `#/models/${rapid.rawmodel.id}` : '#/results';
}

function showBusy(body, rapid, state, left) {
  if (!body.querySelector('.stage-wait')) {
    fill(body, h('div.stage-wait', {}, icon('spark', 56), h('p', { role: 'status' }), progress(null, 'Optimization')));
  }
  const words = body.querySelector('[role=status]');
  const said = [state.word, stepOf(rapid)].filter(Boolean).join(': ') + (left ? ` · ${left}` : '');
  if (words.textContent !== said) words.textContent = said;
  if (rapid.progress) body.querySelector('progress').value = rapid.progress;
}

function showFailed(body, rapid) {
  fill(body, problemBox({ message: failureOf(rapid) ?? 'The optimization failed.' },
    [h('p.hint', {}, 'Change the preset or the model, then optimize again. The log has the details.'),
      rapid.rawmodel ? h('a.button', { href: `#/models/${rapid.rawmodel.id}` }, 'To the model') : null]),
    logs({ error: rapid.rpd_error, warning: rapid.rpd_warnings }));
}

async function showDone(body, rapid, tags, asked, signal) {
  const formats = formatsOf(rapid);
  const [renders, asset, related, reports] = await Promise.all([
    getIfThere(`rapidmodel/${rapid.id}/renders`),
    rapid.rawmodel && getIfThere(`rawmodel/${rapid.rawmodel.id}`),
    rapid.rawmodel && getIfThere(`rawmodel/${rapid.rawmodel.id}/rapidmodels`),
    Promise.all(formats.map((format) => reportOf(rapid, format)))]);
  if (signal.aborted) return null;
  const byFormat = new Map(formats.map((format, at) => [format, reports[at]]));
  const numbers = h('section.facts', { 'aria-labelledby': 'numbers-title' });
  const showNumbers = (left, right) => fill(numbers, h('h2', { id: 'numbers-title' }, 'Numbers'), table(left, right));
  const fileList = h('div', {}, files(rapid));
  const warnings = [...new Set(reports.flatMap((report) => report?.warnings ?? []))];
  const side = h('div.side-column', {}, staleLine(rapid), numbers,
    warnings.length ? h('section.warnings', {}, h('h2', {}, 'Warnings'), h('ul', {}, warnings.map((line) => h('li', {}, line)))) : null,
    h('section', {}, h('h2', {}, 'Files'), fileList),
    h('section', {}, h('h2', {}, 'Tags'), tags),
    h('p.hint', {}, 'Made ', since(rapid.created_at), ` by engine ${rapid.engine_core_version}. Id ${rapid.id}.`));
  const othersOf = (found) => (found?.data ?? []).filter((other) => other.id !== rapid.id && rapidState(other).kind === 'good');
  const pictures = comparison({
    rapid, formats, signal, onSides: showNumbers, others: othersOf(related), partner: asked.partner,
    onPartner: (partner) => {
      asked.partner = partner;
      history.replaceState(null, '', `#/results/${rapid.id}${partner ? `?with=${partner}` : ''}`);
    },
    source: sourceSide({ asset: asset?.data, renders, report: reports.find(Boolean) }),
    sideOf: (format) => resultSide({ label: labelOf(rapid), rapid, format, renders, report: byFormat.get(format) }),
    heatOf: (format, view) => renders?.[`${format}-${view}__diff.png`] ?? null,
  });
  fill(body, h('div.split.wide-left', {}, pictures.element, side));
  return {
    /** Takes over the new addresses of a record without showing everything anew. */
    renew: async (fresh) => {
      Object.assign(rapid, fresh);
      if (renders) Object.assign(renders, await getIfThere(`rapidmodel/${rapid.id}/renders`));
      if (asset) Object.assign(asset.data, (await getIfThere(`rawmodel/${asset.data.id}`))?.data);
      fill(fileList, files(rapid));
    },
    /** Other results of the model may have been made meanwhile. */
    learn: async () => {
      const now = rapid.rawmodel && await getIfThere(`rawmodel/${rapid.rawmodel.id}/rapidmodels`);
      if (now && !signal.aborted) pictures.learn(othersOf(now));
    },
  };
}

/**
 * A result that saves less than this part of the source's bytes has gained nothing that anybody notices: MIN_GAIN_PERCENT of
 * crates/engine/src/job/gain.rs.
 */
const MIN_GAIN = 0.02;

/** The numbers of what is compared. @param {import('./sides.js').Side} left the source, or another result of it @param {import('./sides.js').Side} right */
function table(left, right) {
  if (!left.counts || !right.counts) return h('p.hint', {}, 'There is no report for this result.');
  const [before, after] = [left.counts, right.counts];
  const isSource = left.key === 'source';
  const rows = [
    ['Triangles', 'triangles', number],
    ['Vertices', 'vertices', number],
    ['Meshes', 'meshes', number],
    ['Materials', 'materials', number],
    ['Textures', 'textures', number],
    ['Largest texture', 'largest_texture', (pixels) => `${number(pixels)} px`],
    ['Size', 'bytes', bytes],
  ];
  const line = ([name, key, write]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, write(before[key])), h('td', {}, write(after[key])),
    h(isLess(before[key], after[key]) ? 'td.less' : 'td', {}, change(before[key], after[key]),
      isSource && key === 'bytes' && after.bytes > before.bytes * (1 - MIN_GAIN) && noGain(before.bytes, after.bytes)));
  return [
    h('div.score', {}, score(isSource ? 'Similarity' : 'Similarity to the source', points(right.score), 'Mean of six views; 100 is equal'),
      score('Size', change(before.bytes, after.bytes)), score('Triangles', change(before.triangles, after.triangles))),
    h('table.numbers', {}, h('caption.unseen', {}, `${left.label} and ${right.label} in numbers`),
      h('thead', {}, h('tr', {}, h('td', {}), (isSource ? ['Before', 'After'] : [left.label, right.label]).map((title) => h('th.side-name', { scope: 'col' }, title)), h('th', { scope: 'col' }, 'Change'))),
      h('tbody', {}, rows.map(line),
        isSource ? null : h('tr', {}, h('th', { scope: 'row' }, 'Similarity'), h('td', {}, points(left.score)), h('td', {}, points(right.score)), h('td', {})))),
  ];
}

const points = (similarity) => (similarity === null ? '–' : similarity.toFixed(1));

const noGain = (before, after) => h('p', {}, h('span.badge.busy', { title: `${after > before ? 'Larger' : 'Hardly smaller'} than the source. If the settings ask for less, the warnings say why.` },
  after > before ? 'Larger' : 'No gain'));

const score = (name, value, note = null) => h('div', { title: note }, h('strong', {}, value), h('span', {}, name));

function files(rapid) {
  const all = Object.entries(rapid.downloads.all);
  return h('ul.files', {}, all.map(([name, url]) => h('li', {},
    h('a', { href: url, download: name.split('/').pop() }, icon('download', 16), h('span.cut', {}, name)))));
}

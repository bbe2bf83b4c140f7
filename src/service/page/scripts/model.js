// One uploaded model: its pictures and content, its results, and what can be done with it.
import { download, get, getIfThere, post, put, remove, text } from './api.js';
import { KeyedList, badge, picture, progress, since } from './cards.js';
import { fill, h, refill } from './dom.js';
import { assetState, bytes, counted, number, shownName } from './format.js';
import { icon } from './icons.js';
import { changed } from './live.js';
import { ask, attempt, complain, problemBox, say } from './notices.js';
import { createEmbed, embedResult } from './embed_dialog.js';
import { convert } from './convert.js';
import { optimize } from './optimize.js';
import { logs } from './logs.js';
import { epoch, stable } from './pictures.js';
import { resultCard, resultKey } from './results.js';
import { linkButton } from './share.js';
import { replacedBadge, withDriveNames, withStaleness } from './stale.js';
import { tagEditor } from './tags.js';
import { leftWords, timesLeft } from './time_left.js';
import { ofAsset } from './source3d.js';
import { viewer3d } from './viewer3d.js';
import { tabs } from './tabs.js';
import { viewsOf } from './views.js';

export async function model({ place, life, id }) {
  const head = h('header.view-head');
  const stage = h('section.stage', { 'aria-label': 'Model' });
  const facts = h('section.facts', { 'aria-labelledby': 'facts-title' });
  const list = h('ul.grid.compact', { 'aria-label': 'Results' });
  const none = h('p.hint');
  const made = h('section', { 'aria-labelledby': 'made-title' }, h('h2', { id: 'made-title' }, 'Results'), none, list);
  const cards = new KeyedList(list, resultCard);
  let shown = '';
  let pictured = '';
  let onStage = null;
  let headed = '';
  let onHead = null;
  const refresh = async () => {
    const [{ data: asset }, rapids, converted] = await Promise.all([get(`rawmodel/${id}`), get(`rawmodel/${id}/rapidmodels`).then(({ data }) => withStaleness(data)),
      getIfThere(`rawmodel/${id}/downloads/converted`)]);
    // The record names only some of them.
    asset.converted = converted ?? {};
    const [named] = await withDriveNames([asset]);
    const left = assetState(asset).kind === 'busy' ? leftWords((await timesLeft()).models[id]) : null;
    const key = JSON.stringify([left, { ...asset, downloads: Object.keys(asset.downloads), converted: Object.keys(asset.converted) }, named.name, epoch()], unsigned);
    if (key !== shown) {
      const renders = assetState(asset).kind === 'good' ? await getIfThere(`rawmodel/${id}/renders`) : null;
      if (life.signal.aborted) return false;
      const heading = JSON.stringify([assetState(asset), asset.format, named.name]);
      // A button that is replaced while it is pressed does nothing.
      if (heading === headed) {
        Object.assign(onHead, asset);
      } else {
        onHead = { ...asset };
        showHead(head, onHead, named);
      }
      headed = heading;
      // A tag or a scale changes no picture, so the 3D view stays as it was turned.
      const looks = JSON.stringify([left, asset.upload_status, asset.progress, asset.error_message, asset.import_status, Boolean(asset.converted_glb), Boolean(renders)]);
      if (looks === pictured) {
        Object.assign(onStage.asset, asset);
        Object.assign(onStage.renders ?? {}, renders);
      } else {
        onStage = { asset, renders };
        showStage(stage, asset, renders, left, life.signal);
      }
      pictured = looks;
      showFacts(facts, asset, life.signal);
      shown = key;
    }
    cards.show(rapids.map((rapid) => [resultKey(rapid), rapid]));
    none.hidden = rapids.length > 0;
    none.textContent = assetState(asset).kind === 'bad' ? 'Nothing can be made from a model whose import failed.' : 'Nothing is made from this model yet. Once it is ready, choose “Optimize” and a preset.';
    return assetState(asset).kind === 'busy' || rapids.some((rapid) => rapid.optimization_status === 'sent_to_queue');
  };
  fill(place, head, h('div.split', {}, stage, facts), made);
  await life.keep(refresh);
}

/** For JSON: each answer of the service signs the same addresses anew. */
const unsigned = (name, value) => (typeof value === 'string' && /^https?:/.test(value) ? value.split('?')[0] : value);

/** @param named the same model, as a drive names it */
function showHead(head, asset, named) {
  const state = assetState(asset);
  const isReady = state.kind === 'good';
  const isGlb = asset.format === 'glb';
  const button = (symbol, label, action, { kind = 'button', disabled = !isReady } = {}) => h(kind, { type: 'button', disabled,
    onclick: (event) => attempt(event.currentTarget, action) }, icon(symbol, 18), h('span', {}, label));
  fill(head,
    h('div.title', {}, h('a.up', { href: '#/models' }, icon('back', 16), 'Models'), h('h1', {}, shownName(named.name)), isReady ? null : badge(state), replacedBadge(named)),
    h('div.row.wrap', {},
      button('spark', 'Optimize', () => optimize(asset), { kind: 'button.primary' }),
      button('embeds', 'Embed', () => {
        return isGlb ? createEmbed({ asset }) : embedResult(asset);
      }),
      button('file', 'Convert', () => convert(asset)),
      linkButton(named.name),
      button('trash', 'Delete', () => deleteModel(named), { disabled: false })));
}

async function deleteModel(asset) {
  const sure = await ask({ title: `Delete ${asset.name}?`, danger: true, action: 'Delete the model',
    body: h('p', {}, 'The uploaded files, the analysis and the embeds of the model are removed for good: pages that show such an embed show nothing then. Results that were made from it stay.'),
    submit: () => remove(`rawmodel/${asset.id}`) });
  if (sure === null) return;
  say(`${asset.name} was deleted.`);
  location.hash = '#/models';
}

/** @param left how long the import still takes, in words */
function showStage(stage, asset, renders, left, signal) {
  const state = assetState(asset);
  if (state.kind === 'bad') {
    const again = h('button', { type: 'button', onclick: (event) => attempt(event.currentTarget, async () => {
      await post(`rawmodel/${asset.id}/api-upload/retry`);
      changed();
    }) }, icon('retry', 18), 'Import again');
    fill(stage, problemBox({ message: asset.error_message ?? state.word },
      [h('p.hint', {}, 'After fixing this, import the model again or upload it again. If a file was missing, upload the whole folder.'), again]));
    return;
  }
  if (state.kind !== 'good') {
    const isUploaded = asset.upload_status !== 'incomplete';
    fill(stage, h('div.stage-wait', { role: 'status' }, icon('cube', 56), h('p', {}, [state.kind === 'busy' && asset.import_status ? `${state.word}: ${asset.import_status}` : state.word, left].filter(Boolean).join(' · ')),
      isUploaded ? progress(asset.progress || null, state.word) : h('p.hint', {}, 'Not all files have arrived yet. If nothing sends them any more, because its window was closed, upload the model again and delete this one.')));
    return;
  }
  const pictures = () => (renders ? viewsOf(renders, asset) : h('div.stage-picture', {}, picture(asset.downloads['thumb.jpg'], asset.name)));
  const source = ofAsset(asset);
  if (!source) {
    fill(stage, pictures(), noSource(asset));
    return;
  }
  let opened = new AbortController();
  signal.addEventListener('abort', () => opened.abort());
  const show = (way) => {
    opened.abort();
    opened = new AbortController();
    const ways = tabs('Way to look', [['3d', '3D'], ['pictures', 'Pictures']], way, (next) => {
      show(next);
      stage.querySelector(`input[value="${next}"]`).focus();
    });
    const poster = asset.overview ?? asset.downloads['thumb.jpg'];
    fill(stage, h('div.row', {}, ways), way === '3d' ? viewer3d({ sources: [source], posters: [poster], signal: opened.signal }) : pictures());
  };
  show('3d');
}

/** Why there is no 3D view, and what makes one. */
function noSource(asset) {
  const make = async () => {
    await post(`rawmodel/${asset.id}/addFormats`, { formats: ['glb'] });
    say('A glb is being made. The 3D view appears when it is there.');
    changed();
  };
  return h('div.row.wrap', {}, h('p.hint', {}, `A browser shows glTF in 3D, and this model is ${asset.format?.toUpperCase()}.`),
    h('button.small', { type: 'button', onclick: (event) => attempt(event.currentTarget, make) }, icon('cube', 16), 'Make a glb for the 3D view'));
}

function showFacts(place, asset, signal) {
  const { geometry, boundingBox, materials, textures, animations, skins } = asset.metadata ?? {};
  const size = boundingBox?.size?.map((side) => Number(side.toPrecision(3))).join(' × ');
  const largest = Math.max(0, ...(textures ?? []).map(({ width, height }) => Math.max(width, height)));
  const rows = [
    ['Format', asset.format?.toUpperCase()],
    ['Size', bytes(asset.size)],
    ['Triangles', geometry && number(geometry.triangles)],
    ['Vertices', geometry && number(geometry.vertices)],
    ['Meshes', geometry && number(geometry.meshes)],
    ['Materials', materials && number(materials.length)],
    ['Textures', textures && (textures.length ? `${number(textures.length)}, up to ${number(largest)} px` : '0')],
    ['Animations', animations?.length && number(animations.length)],
    ['Skins', skins?.length && number(skins.length)],
    ['Dimensions', size && `${size} m`],
    ['Uploaded', since(asset.created_at)],
    ['Id', asset.id],
  ];
  refill(place, h('h2', { id: 'facts-title' }, 'Content'),
    h('dl.facts-list', {}, rows.filter(([, value]) => value).map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h('h3', {}, 'Tags'), tagEditor(asset.tags, `rawmodel/${asset.id}`),
    h('h3', {}, 'Scale'), scaleField(asset),
    h('h3', {}, 'Files'), downloadList(asset),
    warned(asset, signal),
    logs({ error: assetState(asset).kind === 'bad' ? asset.downloads['error.log'] : null, info: asset.downloads['info.log'] }));
}

/** More warnings are only in the file. */
const MAX_WARNINGS = 50;

/** What the import warned of: models of a zip that were left out, textures that are missing. */
function warned(asset, signal) {
  const list = h('ul');
  const section = h('section.warnings', { hidden: true, 'aria-labelledby': 'warned-title' }, h('h3', { id: 'warned-title' }, 'Warnings'), list);
  const url = asset.downloads['warning.log'];
  if (url) {
    text(stable(url), signal).then((content) => {
      const lines = content.split('\n').filter((line) => line.trim());
      const more = lines.length - MAX_WARNINGS;
      fill(list, lines.slice(0, MAX_WARNINGS).map((line) => h('li', {}, line)), more > 0 && h('li', {}, h('a', { href: url, download: 'warning.log' }, `${number(more)} more`)));
      section.hidden = lines.length === 0;
    }).catch((problem) => {
      fill(list, h('li', {}, problem.message));
      section.hidden = signal.aborted;
    });
  }
  return section;
}

function scaleField(asset) {
  const field = h('input.narrow', { type: 'number', required: true, value: asset.scale_factor, min: 1e-9, max: 1e9, step: 'any', 'aria-label': 'Scale' });
  const form = h('form.row', {}, field, h('button.small', { type: 'submit' }, 'Set'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    put(`rawmodel/${asset.id}`, { scale_factor: field.valueAsNumber }).then(() => {
      say('The scale is set. It applies to every later export.');
      changed();
    }).catch(complain);
  });
  return form;
}

/** Files of the analysis; the rest of the downloads is the model as it was uploaded. */
const ANALYSIS = new Set(['error.log', 'info.log', 'metrics.json', 'rpd_info.json', 'thumb.jpg', 'warning.log']);

function downloadList(asset) {
  const sources = Object.entries(asset.downloads).filter(([name]) => !ANALYSIS.has(name));
  const link = (name, url) => h('li', {}, h('a', { href: url, download: name.split('/').pop() }, icon('download', 16), h('span.cut', {}, name)));
  const all = [...sources, ...Object.entries(asset.converted)].map(([name, url]) => link(name, url));
  if (all.length === 0) return h('p.hint', {}, 'Nothing is uploaded yet.');
  const zip = h('button.small', { type: 'button', onclick: (event) => attempt(event.currentTarget, () => download(`rawmodel/${asset.id}/downloads/zip`, `${asset.name}.zip`)) },
    icon('download', 16), 'Everything that was uploaded, as a zip');
  return [h('ul.files', { 'aria-label': counted(all.length, 'file') }, all), h('div', {}, zip)];
}

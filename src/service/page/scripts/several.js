// What is done with several models or results at once.
import { Problem, download, get, post, put, serviceFacts } from './api.js';
import { h } from './dom.js';
import { ago, assetState, bytes, counted, factLine } from './format.js';
import { formatsOf } from './convert.js';
import { changed } from './live.js';
import { ask, complain, say } from './notices.js';
import { optimizeAll } from './optimize.js';
import { resultName, tagsIn } from './tags.js';

/** Calls that run at the same time. */
const AT_ONCE = 4;
/** Pause between downloads: a browser drops those that come too fast. */
const DOWNLOAD_PAUSE_MS = 400;

/** Does `work` for each item and says how many succeeded, for how many nothing was to do (`false`), and what failed. They stay selected, for what comes next. */
async function each(items, verb, one, work) {
  const waiting = [...items];
  const failed = [];
  let needless = 0;
  const run = async () => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      try {
        if (await work(item) === false) needless += 1;
      } catch (problem) {
        failed.push(`${resultName(item)}: ${problem.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  const good = items.length - failed.length - needless;
  if (good) say(`${verb} ${counted(good, one)}.`);
  if (needless) say(`${counted(needless, one)} had ${needless === 1 ? 'it' : 'them'} already.`);
  if (failed.length) complain(new Problem(`${counted(failed.length, one)} failed. ${failed.slice(0, 3).join(' ')}${failed.length > 3 ? ' …' : ''}`));
  changed();
}

export const optimizeSelected = async (assets) => {
  const ready = assets.filter((asset) => assetState(asset).kind === 'good');
  if (ready.length === 0) throw new Problem('None of these models is ready to be optimized.');
  return optimizeAll(ready, assets.length - ready.length);
};

/** @param {string} api `rawmodel` or `rapidmodel` */
export async function tagSelected(api, one, items) {
  const tags = await ask({ title: `Tag ${counted(items.length, one)}`, action: 'Add the tags',
    body: h('label.field', {}, h('span', {}, 'Tags, separated by commas'), h('input', { name: 'tags', required: true, maxlength: 1000 })),
    submit: (form) => {
      const names = tagsIn(new FormData(form).get('tags'));
      if (names.length === 0) throw new Problem('Write at least one tag.');
      return names;
    } });
  return tags && each(items, 'Tagged', one, (item) => put(`${api}/${item.id}`, { tags }));
}

export async function convertSelected(selected) {
  const { formats } = await serviceFacts();
  const assets = selected.filter((asset) => assetState(asset).kind === 'good');
  if (assets.length === 0) throw new Problem('None of these models is ready to be converted.');
  const left = selected.length - assets.length;
  const wanted = await ask({ title: `Convert ${counted(assets.length, 'model')}`, action: 'Convert',
    body: [h('fieldset.choices', {}, h('legend', {}, 'Formats'), formats.written.map((format) => h('label.check', {},
      h('input', { type: 'checkbox', name: 'format', value: format }), h('span', {}, format.toUpperCase())))),
    h('p.hint', {}, `A model that has a format already keeps it. Conversions cost storage and no points.${left ? ` ${counted(left, 'model')} that ${left === 1 ? 'is' : 'are'} not ready ${left === 1 ? 'is' : 'are'} left out.` : ''}`)],
    submit: (form) => {
      const chosen = new FormData(form).getAll('format');
      if (chosen.length === 0) throw new Problem('Choose at least one format.');
      return chosen;
    } });
  return wanted && each(assets, 'Conversion started for', 'model', async (asset) => {
    const there = await formatsOf(asset);
    const missing = wanted.filter((format) => !there.has(format));
    if (missing.length === 0) return false;
    return post(`rawmodel/${asset.id}/addFormats`, { formats: missing });
  });
}

/** @param {string} api `rawmodel` or `rapidmodel` @param {string} what is lost, in a sentence */
export async function deleteSelected(api, one, what, items) {
  const sure = await ask({ title: `Delete ${counted(items.length, one)}?`, danger: true, action: `Delete ${counted(items.length, one)}`,
    body: [h('ul.cut-list', {}, items.slice(0, 6).map((item) => h('li.cut', {}, resultName(item), h('span.hint', {}, ' ', factLine([item.preset_name, `id ${item.id}`, ago(item.created_at)])))), items.length > 6 && h('li', {}, `and ${items.length - 6} more`)), h('p', {}, what)],
    submit: () => post(`${api}/delete`, { ids: items.map(({ id }) => id) }) });
  if (sure === null) return null;
  say(`Deleted ${counted(items.length, one)}.`);
  changed();
  return { done: true };
}

/** The uploaded files of each model, one zip a model. */
export async function downloadModels(assets) {
  const size = assets.reduce((sum, asset) => sum + asset.size, 0);
  const sure = assets.length === 1 || await ask({ title: `Download ${counted(assets.length, 'model')}?`, action: 'Download',
    body: h('p', {}, `These are ${assets.length} zips with together about ${bytes(size)}. The browser may ask once whether it may save several files.`) });
  if (!sure) return null;
  for (const asset of assets) {
    await download(`rawmodel/${asset.id}/downloads/zip`, `${asset.name}.zip`);
    await new Promise((resume) => setTimeout(resume, DOWNLOAD_PAUSE_MS));
  }
  return null;
}

/** The files of each result. */
export async function downloadResults(rapids) {
  const links = rapids.flatMap((rapid) => Object.entries(rapid.downloads.all ?? {}));
  if (links.length === 0) throw new Problem('None of these results has files.');
  const sure = links.length === 1 || await ask({ title: `Download ${counted(links.length, 'file')}?`, action: 'Download',
    body: h('p', {}, 'The browser may ask once whether it may save several files.') });
  if (!sure) return null;
  for (const [name, href] of links) {
    h('a', { href, download: name.split('/').pop() }).click();
    await new Promise((resume) => setTimeout(resume, DOWNLOAD_PAUSE_MS));
  }
  return null;
}

// The settings that a result was made with, in a dialog. The service gives them as a zip with the files for the API and for the
// command line, so they are read out of that; the same zip is what can be downloaded.
import { Problem, bytesAt, save, serviceFacts } from './api.js';
import { settingsOf } from './config_form.js';
import { h } from './dom.js';
import { number } from './format.js';
import { icon } from './icons.js';
import { tell } from './notices.js';
import { summary } from './preset_summary.js';
import { resultName } from './tags.js';
import { membersIn } from './zip.js';

export async function showSettings(rapid, title) {
  const [facts, zip] = await Promise.all([serviceFacts(), bytesAt(`rapidmodel/${rapid.id}/download/preset`)]);
  const config = await configIn(zip);
  const groups = settingsOf(facts.preset_keys, config);
  tell({ title: `Settings of ${title}`, wide: true, body: [
    h('div.row.wrap.apart', {}, summary(config) ?? h('p', {}, 'No setting is made.'),
      h('button', { type: 'button', onclick: () => save(zip, `${resultName(rapid)} preset.zip`) }, icon('download', 18), 'Download as a preset')),
    groups.map(({ title: group, rows }) => h('section.settings', {}, h('h3', {}, group),
      h('dl.facts-list', {}, rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, words(value))])))),
    h('details', {}, h('summary', {}, 'JSON'), h('pre.settings-json', { tabindex: '0' }, JSON.stringify(config, null, 2)))] });
}

/** The configuration in the file that has the form of the API. */
async function configIn(zip) {
  const file = (await membersIn(zip)).find(({ path }) => path.endsWith('.api.json'));
  if (!file) throw new Problem('The service sent no settings for this result.');
  return JSON.parse(new TextDecoder().decode(await file.read())).config;
}

function words(value) {
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (Array.isArray(value)) return value.join(', ');
  return Number.isInteger(value) ? number(value) : String(value);
}

// The editor of a preset: a form for the keys that the service knows, and the same configuration as JSON beside it. Each
// follows the other. The service has the last word: what it refuses is shown at its field.
import { Problem, get, patch, post, serviceFacts } from './api.js';
import { configForm } from './config_form.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { attempt, problemBox, say } from './notices.js';

const NEW_CONFIG = { schema: '2.5', limits: { faces: { count: 50000 } }, compressionAndExport: { fileExports: [{ fileType: 'glb' }] } };

export async function presetEditor({ place, life, id, query }) {
  const facts = await serviceFacts();
  const from = Number(query.get('from'));
  const source = id || from ? await get(`preset/${id || from}`) : null;
  const isFixed = Boolean(id) && (source.user_id ?? null) === null;
  const meta = id && !isFixed ? await filenameRule(id) : null;
  if (life.signal.aborted) return;
  const config = structuredClone(source?.config ?? NEW_CONFIG);
  const name = h('input', { value: nameOf(source, id), required: true, maxlength: 255, disabled: isFixed, autofocus: !id });
  const description = h('input', { value: (id && source?.description) || '', maxlength: 1000, disabled: isFixed });
  const rule = filenameFields(meta, isFixed);
  const failure = h('div', { role: 'alert' });
  const text = h('textarea', { spellcheck: 'false', 'aria-label': 'Configuration as JSON', readonly: isFixed });
  const textProblem = h('p.hint.bad', { role: 'status' });
  const writeText = () => {
    text.value = JSON.stringify(config, null, 2);
    fill(textProblem);
  };
  const form = configForm({ keys: facts.preset_keys, config, onChange: writeText, isFixed });
  text.addEventListener('input', () => {
    const problem = takeText(text.value, config);
    fill(textProblem, problem);
    if (!problem) form.show();
  });
  writeText();
  const save = async () => {
    fill(failure);
    clearMarks(form.element);
    try {
      if (textProblem.textContent) throw new Problem('The JSON is not complete. Correct it first.');
      const body = { name: name.value.trim(), description: description.value.trim(), config, meta: { filename: rule.value() } };
      const saved = id ? await patch('preset/update', { id, ...body }) : await post('preset/create', body);
      say(`${saved.name} is saved.`);
      location.hash = '#/presets';
    } catch (problem) {
      fill(failure, problemBox(problem));
      mark(form.element, problem);
      failure.scrollIntoView({ block: 'nearest' });
    }
  };
  const editor = h('form.preset-editor', {},
    h('div', {}, h('header.view-head', {},
      h('div.title', {}, h('a.up', { href: '#/presets' }, icon('back', 16), 'Presets'), h('h1', {}, id ? source.name : 'New preset')),
      isFixed
        ? h('a.button.primary', { href: `#/presets/new?from=${id}` }, icon('copy', 18), h('span', {}, 'Duplicate to change it'))
        : h('button.primary', { type: 'submit' }, icon('check', 18), h('span', {}, 'Save'))), failure),
    h('div.columns', {}, h('label.field', {}, h('span', {}, 'Name'), name), h('label.field', {}, h('span', {}, 'Description'), description)),
    h('div.editor-split', {}, h('div', {}, form.element, rule.element),
      h('section.json', { 'aria-labelledby': 'json-title' }, h('h2', { id: 'json-title' }, 'JSON'), text, textProblem)));
  editor.addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(editor.querySelector('[type=submit]'), save);
  });
  fill(place, editor);
}

function nameOf(source, id) {
  if (!source) return '';
  return id ? source.name : `${source.name} (copy)`;
}

/** Reads the text into `config`; a sentence where it is no configuration. */
function takeText(text, config) {
  let parsed;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return 'A configuration is an object: { … }.';
  for (const key of Object.keys(config)) delete config[key];
  Object.assign(config, parsed);
  return '';
}

/** Lists say how a preset names its results; the record of one preset does not. */
async function filenameRule(id) {
  const listed = (await get('preset')).find((preset) => preset.id === id);
  try {
    return JSON.parse(listed.meta).filename;
  } catch {
    return null;
  }
}

function filenameFields(rule, isFixed) {
  const suffix = h('input', { value: rule?.useSuffix ?? '', maxlength: 100 });
  const flag = (label, checked) => {
    const input = h('input', { type: 'checkbox', checked });
    return { input, element: h('label.check', {}, input, h('span', {}, label)) };
  };
  const preset = flag('The name of the preset', rule?.usePresetName);
  const number = flag('The number of the result', rule?.useId);
  const element = h('details.group', { open: Boolean(rule?.useSuffix || rule?.usePresetName || rule?.useId) }, h('summary', {}, 'Names of the files'),
    h('fieldset.group-fields', { disabled: isFixed }, h('legend.hint', {}, 'What is added to the name of the model'),
      h('label.field', {}, h('span.name', {}, 'Suffix'), suffix), preset.element, number.element));
  const value = () => ({ useSuffix: suffix.value.trim() || null, usePresetName: preset.input.checked, useId: number.input.checked });
  return { element, value };
}

/** Marks the fields whose paths the refusal names, and goes to the first. */
function mark(form, problem) {
  const said = [problem.message, ...Object.values(problem.errors ?? {}).flat()].join('\n');
  const named = [...form.querySelectorAll('[data-path]')].filter((input) => said.includes(input.dataset.path));
  for (const input of named) input.setAttribute('aria-invalid', 'true');
  if (named[0]) {
    named[0].closest('details').open = true;
    named[0].focus();
  }
}

function clearMarks(form) {
  for (const input of form.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
}

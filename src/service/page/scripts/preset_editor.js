// The editor of a preset: a form for the keys that the service knows, and the same configuration as JSON beside it. Each
// follows the other. The service has the last word: what it refuses is shown at its field. What is not saved is kept in the browser,
// and what somebody else saved meanwhile is not overwritten without a question.
import { Problem, get, getIfThere, patch, post, serviceFacts } from './api.js';
import { configForm } from './config_form.js';
import { readConfig } from './config_text.js';
import { fill, h } from './dom.js';
import { ago } from './format.js';
import { icon } from './icons.js';
import { holdBack } from './leaving.js';
import { ask, attempt, problemBox, say } from './notices.js';
import { differences, ownDraft } from './preset_draft.js';
import { preview } from './preset_preview.js';

const NEW_CONFIG = { schema: '2.5', limits: { faces: { count: 50000 } }, compressionAndExport: { fileExports: [{ fileType: 'glb' }] } };

/** How long nothing is typed before the service is asked what it would refuse. */
const CHECK_PAUSE_MS = 600;

export async function presetEditor({ place, life, id, query }) {
  const facts = await serviceFacts();
  const from = Number(query.get('from'));
  const source = id || from ? await get(`preset/${id || from}`) : null;
  const isFixed = Boolean(id) && (source.user_id ?? null) === null;
  const meta = id && !isFixed ? await filenameRule(id) : null;
  const draft = await ownDraft(id || (from ? `from-${from}` : 'new'), life.signal);
  if (life.signal.aborted) return;
  const loaded = { name: nameOf(source, id), description: (id && source?.description) || '', rule: meta, config: source?.config ?? NEW_CONFIG };
  const kept = isFixed ? null : draft.read();
  const first = kept?.draft ?? loaded;
  // What somebody else has saved since is asked about, however long ago the changes were begun.
  const opened = kept?.opened ?? source;
  const config = structuredClone(first.config);
  const name = h('input', { value: first.name, required: true, maxlength: 255, disabled: isFixed, autofocus: !id });
  const description = h('input', { value: first.description, maxlength: 1000, disabled: isFixed });
  const rule = filenameFields(first.rule, isFixed);
  const failure = h('div', { role: 'alert' });
  const text = h('textarea', { spellcheck: 'false', 'aria-label': 'Configuration as JSON', readonly: isFixed });
  const textProblem = h('p.hint.bad', { role: 'status' });
  const refusal = h('p.hint.bad', { role: 'status' });
  const writeText = () => {
    text.value = JSON.stringify(config, null, 2);
    fill(textProblem);
  };
  const now = () => ({ name: name.value, description: description.value, rule: rule.value(), config, text: textProblem.textContent ? text.value : undefined });
  const asLoaded = JSON.stringify({ ...loaded, rule: filenameFields(loaded.rule, isFixed).value() });
  const isChanged = () => !isFixed && JSON.stringify(now()) !== asLoaded;
  /** Whether something was changed here: an older draft that is only looked at can be left. */
  let isTouched = false;
  let checked = 0;
  /** Says what the service would refuse, when nothing was typed for a moment. */
  const check = async () => {
    const own = checked += 1;
    await new Promise((resume) => setTimeout(resume, CHECK_PAUSE_MS));
    if (own !== checked || life.signal.aborted || textProblem.textContent) return;
    const { errors } = await post('../../page/preset_check.json', { config }).catch(() => ({ errors: [] }));
    if (own !== checked) return;
    fill(refusal, errors.join('; '));
    clearMarks(form.element);
    mark(form.element, errors);
  };
  const touched = () => {
    isTouched = true;
    fill(failure);
    fill(refusal);
    check();
    if (isChanged()) draft.keep(structuredClone(now()), opened);
    else draft.drop();
    tries?.touched(config);
  };
  const form = configForm({ keys: facts.preset_keys, config, isFixed, onChange: () => {
    writeText();
    touched();
  } });
  /** Reads the JSON into the form. While it cannot be read the form waits, because its next change would replace the text. */
  const takeText = () => {
    const { config: read, problem } = readConfig(text.value);
    fill(textProblem, problem);
    form.element.toggleAttribute('disabled', isFixed || Boolean(problem));
    if (problem) return;
    for (const key of Object.keys(config)) delete config[key];
    Object.assign(config, read);
    form.show();
  };
  text.addEventListener('input', () => {
    takeText();
    touched();
  });
  writeText();
  if (first.text) {
    text.value = first.text;
    takeText();
  }
  const sendable = () => {
    if (textProblem.textContent) throw new Problem(textProblem.textContent);
    return structuredClone(config);
  };
  const tries = preview({ config: sendable, signal: life.signal });
  if (!isFixed) holdBack(() => (isTouched && isChanged() ? 'The preset has changes that are not saved. They stay in this browser, and are there when you open the preset here again.' : null), life.signal);
  const save = async () => {
    fill(failure);
    clearMarks(form.element);
    try {
      const body = { name: name.value.trim(), description: description.value.trim(), config: sendable(), meta: { filename: rule.value() } };
      const way = id ? await wayToSave(id, opened) : 'new';
      if (way === null || ((way === 'new' || body.name !== source.name) && !await mayHaveName(body.name, way === 'new' ? null : id))) return;
      const saved = way === 'over' ? await patch('preset/update', { id, ...body }) : await post('preset/create', body);
      say(`${saved.name} is saved.`);
      draft.drop();
      holdBack(null, life.signal);
      location.hash = '#/presets';
    } catch (problem) {
      fill(failure, problemBox(problem));
      focusFirst(mark(form.element, [problem.message, ...Object.values(problem.errors ?? {}).flat()]));
      failure.scrollIntoView({ block: 'nearest' });
    }
  };
  const editor = h('form.preset-editor', {},
    h('div', {}, h('header.view-head', {},
      h('div.title', {}, h('a.up', { href: '#/presets' }, icon('back', 16), 'Presets'), h('h1', {}, id ? source.name : 'New preset')),
      isFixed
        ? h('a.button.primary', { href: `#/presets/new?from=${id}` }, icon('copy', 18), h('span', {}, 'Duplicate to change it'))
        : h('button.primary', { type: 'submit' }, icon('check', 18), h('span', {}, 'Save'))), failure, kept && restored(kept, draft)),
    h('div.columns', {}, h('label.field', {}, h('span', {}, 'Name'), name), h('label.field', {}, h('span', {}, 'Description'), description)),
    h('div.editor-split', {}, h('div', {}, form.element, rule.element),
      h('section.json', { 'aria-labelledby': 'json-title' }, tries.element, h('h2', { id: 'json-title' }, 'JSON'), textProblem, refusal, text)));
  editor.addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(editor.querySelector('[type=submit]'), save);
  });
  for (const event of ['input', 'change']) for (const part of [name, description, rule.element]) part.addEventListener(event, touched);
  fill(place, editor);
  if (kept) check();
}

/** Says that what was typed earlier is here again. */
function restored({ since }, draft) {
  const drop = () => {
    draft.drop();
    holdBack(null, new AbortController().signal);
    dispatchEvent(new Event('assetfs:again'));
  };
  return h('div.restored', { role: 'status' }, h('p', {}, `Changes from ${ago(since)} that were not saved are here again.`),
    h('button.small', { type: 'button', onclick: drop }, 'Discard them'));
}

/** How to save: over the preset as it was opened; if it was changed or deleted since, as the person wants. Null: not now. */
async function wayToSave(id, opened) {
  const there = await getIfThere(`preset/${id}`);
  const parts = ({ name, description, config }) => ({ name, description: description ?? '', config });
  const changes = there && differences(parts(opened), parts(there));
  if (changes?.length === 0) return 'over';
  const choice = (value, label, checked) => h('label.check', {}, h('input', { type: 'radio', name: 'way', value, checked }), h('span', {}, label));
  return ask({
    title: there ? `${there.name} was changed since you opened it` : 'The preset was deleted since you opened it', action: 'Save', wide: true,
    body: [
      there && h('p', {}, 'In another tab, or by somebody else:'),
      there && h('ul.changes', {}, changes.slice(0, 8).map((line) => h('li', {}, h('code', {}, line))), changes.length > 8 && h('li', {}, `and ${changes.length - 8} more`)),
      h('fieldset.choices', {}, h('legend', {}, 'What you have here'), choice('new', 'Save as a new preset', true), there && choice('over', 'Replace what is there', false))],
    submit: (form) => new FormData(form).get('way'),
  });
}

/** Asks before a second preset gets a name. `id` is that of the preset itself, which may keep its own name. */
async function mayHaveName(name, id) {
  const [own, factory] = await Promise.all([get('preset'), get('preset/factory')]);
  const isTaken = [...own, ...factory].some((preset) => preset.name === name && preset.id !== id);
  return !isTaken || await ask({ title: `A preset named ${name} exists already`, action: 'Save with the same name',
    body: h('p', {}, 'The dialog “Optimize” then shows two of this name, and files of a drive that name the preset are refused, because the name means two of them.') }) !== null;
}

function nameOf(source, id) {
  if (!source) return '';
  return id ? source.name : `${source.name} (copy)`;
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

/** Marks the fields whose paths the sentences of a refusal name, and returns them. */
function mark(form, sentences) {
  const said = sentences.join('\n');
  const named = [...form.querySelectorAll('[data-path]')].filter((input) => said.includes(input.dataset.path));
  for (const input of named) input.setAttribute('aria-invalid', 'true');
  return named;
}

function focusFirst([first]) {
  if (!first) return;
  first.closest('details').open = true;
  first.focus();
}

function clearMarks(form) {
  for (const input of form.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
}

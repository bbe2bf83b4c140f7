// The form of a configuration, made from the keys that the service knows: a field for each key, a group for each part,
// and rows that can be added where a key is in a list.
import { listLength, read, write } from './config_paths.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';

/** Groups by the start of their keys, in the order of the page. A key belongs to the first group that fits. */
const GROUPS = [
  { start: 'limits.faces.', title: 'Triangles', open: true },
  { start: 'limits.textures.', title: 'Textures', open: true },
  { start: 'compressionAndExport.fileExports[].', title: 'Files to write', list: 'compressionAndExport.fileExports', row: 'File', first: { fileType: 'glb' }, open: true },
  { start: 'sceneManipulation.', title: 'Scene' },
  { start: 'assetSimplification.', title: 'Simplification' },
  { start: 'workflowSettings.', title: 'Target size' },
  { start: 'import.', title: 'Import' },
  { start: 'export[].', title: 'Files to write, under “export”', list: 'export', row: 'File', first: { format: { glb: {} } } },
];

/** @typedef {{path: string, label: string, about: string, value: {kind: string, least?: number, most?: number, options?: string[]}|null, not_done: string|null}} Key */

/**
 * @param {{keys: Key[], config: any, onChange: () => void}} given the configuration is changed in place
 * @returns {{element: HTMLElement, show: () => void}} `show` reads the configuration again
 */
export function configForm({ keys, config, onChange, isFixed }) {
  const element = h('fieldset.config-form', { disabled: isFixed }, h('legend.unseen', {}, 'Settings'));
  const groups = GROUPS.map((group) => groupOf(group, keysOf(group, keys), config, onChange));
  const without = withoutEffect(keys, config);
  element.append(...groups.map((group) => group.element), without.element);
  const show = () => [...groups, without].forEach((part) => part.show());
  show();
  return { element, show };
}

/** The keys of a group that have an effect. */
const keysOf = (group, keys) => keys.filter((key) => key.value && !key.not_done && key.path.startsWith(group.start));

/**
 * What a configuration sets, group by group in the words of the form.
 * @param {Key[]} keys
 * @returns {{title: string, rows: [string, any][]}[]}
 */
export function settingsOf(keys, config) {
  return GROUPS.flatMap((group) => {
    const own = keysOf(group, keys);
    const part = (_, at) => ({
      title: group.list ? `${group.title}: ${group.row.toLowerCase()} ${at + 1}` : group.title,
      rows: own.map(({ label, path }) => [label, read(config, path.replace('[]', `[${at}]`))]).filter(([, value]) => value !== undefined),
    });
    return Array.from({ length: group.list ? listLength(config, group.list) : 1 }, part).filter(({ rows }) => rows.length > 0);
  });
}

function groupOf(group, keys, config, onChange) {
  const content = h('div.group-fields');
  const count = h('span.count');
  const element = h('details.group', { open: group.open }, h('summary', {}, group.title, count), content);
  const touched = () => {
    tally();
    onChange();
  };
  const tally = () => {
    const set = group.list ? listLength(config, group.list) : keys.filter(({ path }) => read(config, path) !== undefined).length;
    count.textContent = set ? String(set) : '';
    count.title = group.list ? `${set} in the list` : `${set} set`;
    return set;
  };
  const show = () => {
    if (group.list) fill(content, rows(group, keys, config, touched, show));
    else fill(content, keys.map((key) => field(key, key.path, config, touched)));
    if (tally() && !element.open) element.open = true;
  };
  return { element, show };
}

/** The elements of a list, each with its fields, and the button that adds one. */
function rows(group, keys, config, touched, show) {
  const count = listLength(config, group.list);
  const again = () => {
    show();
    touched();
  };
  const row = (_, at) => {
    const own = keys.map((key) => field(key, key.path.replace('[]', `[${at}]`), config, touched));
    const drop = h('button.quiet.small', { type: 'button', onclick: () => {
      const list = read(config, group.list);
      list.splice(at, 1);
      if (list.length === 0) write(config, group.list, undefined);
      again();
    } }, icon('trash', 16), 'Remove');
    return h('fieldset.list-row', {}, h('legend', {}, `${group.row} ${at + 1}`), h('div.group-fields', {}, own), drop);
  };
  const add = h('button.small', { type: 'button', onclick: () => {
    write(config, group.list, [...(read(config, group.list) ?? []), structuredClone(group.first)]);
    again();
  } }, icon('plus', 16), `Add a ${group.row.toLowerCase()}`);
  return [Array.from({ length: count }, row), h('div', {}, add)];
}

/** One key as a field. An empty field means that the key is absent. */
function field(key, path, config, touched) {
  const set = (value) => {
    write(config, path, value);
    touched();
  };
  const control = CONTROLS[key.value.kind](key, read(config, path), set);
  const input = control.matches('input, select') ? control : control.querySelector('input');
  input.dataset.path = path;
  const hint = h('span.hint', {}, key.about);
  if (key.value.kind === 'flag') {
    return h('label.check.field', { title: path }, control, h('span', {}, h('span.name', {}, key.label), hint));
  }
  if (key.value.kind === 'names') {
    return h('fieldset.field.names', { title: path }, h('legend', {}, key.label), control, hint);
  }
  return h('label.field', { title: path }, h('span.name', {}, key.label), control, hint);
}

const CONTROLS = {
  flag: (key, value, set) => h('input', { type: 'checkbox', checked: value === true, onchange: (event) => set(event.target.checked || undefined) }),
  count: (key, value, set) => numberInput(key, value, 1, set),
  number: (key, value, set) => numberInput(key, value, 'any', set),
  text: (key, value, set) => h('input', { type: 'text', value: value ?? '', spellcheck: 'false', oninput: (event) => set(event.target.value || undefined) }),
  choice: (key, value, set) => {
    const known = key.value.options;
    const shown = value === undefined || known.includes(value) ? known : [...known, value];
    const select = h('select', { onchange: (event) => set(event.target.value || undefined) },
      h('option', { value: '' }, '–'), shown.map((option) => h('option', { value: option }, option)));
    select.value = value ?? '';
    return select;
  },
  names: (key, value, set) => {
    const chosen = new Set(Array.isArray(value) ? value : []);
    const one = (name) => h('label.check', {}, h('input', { type: 'checkbox', checked: chosen.has(name), onchange: (event) => {
      if (event.target.checked) chosen.add(name);
      else chosen.delete(name);
      set(chosen.size ? [...chosen] : undefined);
    } }), h('span', {}, name));
    return h('div.row.wrap', {}, key.value.options.map(one));
  },
};

function numberInput(key, value, step, set) {
  const { least, most } = key.value;
  return h('input', { type: 'number', value: value ?? '', step, min: least ?? null, max: most ?? null, inputmode: step === 1 ? 'numeric' : 'decimal',
    oninput: (event) => set(event.target.value === '' ? undefined : event.target.valueAsNumber) });
}

/** The keys that are known and do nothing here, with the reason; those of the configuration first. */
function withoutEffect(keys, config) {
  const list = h('dl');
  const count = h('span.count');
  const element = h('details.group', {}, h('summary', {}, 'Settings that this service ignores', count), list);
  const all = keys.filter((key) => key.not_done);
  const show = () => {
    const set = all.filter(({ path }) => !path.includes('[]') && read(config, path) !== undefined);
    count.textContent = set.length ? String(set.length) : '';
    const rest = all.filter((key) => !set.includes(key));
    fill(list, [...set, ...rest].map((key) => [
      h('dt', {}, h('code', {}, key.path), set.includes(key) ? h('span.badge.idle', {}, 'set') : null), h('dd', {}, key.not_done)]));
  };
  return { element, show };
}

// Uploading: drops and chosen files are reviewed in a dialog, then sent model by model; a panel shows how far each is.
// An upload is a start, a PUT of each file to its signed URL, and a complete, as the API has it.
import { Problem, get, query, serviceFacts } from './api.js';
import { fill, h, refill } from './dom.js';
import { panel, unended } from './drops.js';
import { bytes, counted } from './format.js';
import { icon } from './icons.js';
import { changed } from './live.js';
import { ask } from './notices.js';
import { onReach } from './reach.js';
import { Transfer } from './transfer.js';
import { problemsOf } from './upload_check.js';
import { moved, movedAgain, plan, whole } from './upload_plan.js';
import { humanSize } from './wholeness.js';
import { leftOutOf } from './zip_models.js';

/** Models that are sent at the same time. */
const AT_ONCE = 2;

/** Pause between two looks at imports, and how many are looked at then: the service imports in order. */
const IMPORT_PAUSE_MS = 2_000;
const IMPORTS_LOOKED_AT = 8;

/** @type {Transfer[]} */
let transfers = [];

/** Adds files to those of the dialog; `null` if there is none. */
let addToOpen = null;

/** Shows which models the files are, and sends them when that is confirmed. */
export async function review(files) {
  if (files.length === 0) return;
  if (addToOpen && document.querySelector('dialog[open] .planned')) {
    await addToOpen(files);
    return;
  }
  const { formats } = await serviceFacts();
  let planned = await plan(files, formats);
  let apart = planned;
  const list = h('ul.planned');
  /** Where each file was moved by hand, by its path: that is done again when more files are dropped. */
  const moves = new Map();
  const move = (one, from, to) => {
    moves.set(one.path, to.main ?? to);
    apart = moved(planned, one, from, to, formats);
    planned = apart;
    show();
  };
  const force = h('label.check', { hidden: true }, h('input', { type: 'checkbox', name: 'force' }), h('span', {}, 'Upload it as it is'));
  let turn = 0;
  const show = async () => {
    const own = turn += 1;
    list.dispatchEvent(new Event('input', { bubbles: true }));
    refill(list, planned.map((one) => planRow(one, planned, formats, move)));
    for (const one of planned.filter(({ isLeftOver }) => !isLeftOver)) {
      one.problems = await problemsOf(one);
      one.leftOut = await leftOutOf(one, formats);
    }
    await noteTaken(planned);
    if (own !== turn) return;
    force.hidden = !planned.some(({ problems }) => problems?.length);
    refill(list, planned.map((one) => planRow(one, planned, formats, move)));
  };
  let checked = show();
  const together = h('div');
  const showTogether = () => fill(together, files.length > 1 && planned.length > 1 && h('label.check', {},
    h('input', { type: 'checkbox', onchange: (event) => {
      planned = event.target.checked ? [whole(apart[0].name, files, formats)] : apart;
      checked = show();
    } }), h('span', {}, `All ${counted(files.length, 'file')} are one model`)));
  showTogether();
  addToOpen = async (more) => {
    const paths = new Set(more.map(({ path }) => path));
    files = [...files.filter(({ path }) => !paths.has(path)), ...more];
    const isTogether = together.querySelector('input')?.checked;
    const before = new Map(planned.filter(({ main }) => main).map((one) => [one.main, one.name]));
    apart = await plan(files, formats);
    for (const one of apart) one.name = before.get(one.main) ?? one.name;
    apart = movedAgain(apart, moves, formats);
    planned = isTogether ? [whole(planned[0].name, files, formats)] : apart;
    showTogether();
    const choice = together.querySelector('input');
    if (choice) choice.checked = Boolean(isTogether);
    checked = show();
  };
  const confirmed = await ask({
    title: 'Upload',
    body: [together, list, force],
    action: 'Upload',
    wide: true,
    mayClose: async () => moves.size === 0
      || await ask({ title: 'Close the list?', action: 'Close it', danger: true, body: h('p', {}, 'Nothing is uploaded, and which file belongs to which model is forgotten.') }) !== null,
    submit: async (form) => {
      await checked;
      const wanted = planned.filter((one) => !one.isLeftOver);
      if (wanted.length === 0) throw new Problem('No file is part of a model, so nothing would be uploaded.');
      for (const one of wanted) one.problems = await problemsOf(one);
      const problems = wanted.flatMap((one) => one.problems.map((problem) => (wanted.length > 1 ? `${one.name}: ${problem}` : problem)));
      force.hidden = problems.length === 0;
      if (problems.length && !form.elements.force.checked) throw new Problem(`${problems.join('; ')}. Drop the whole files here, and those that are missing, or tick “Upload it as it is”.`);
      const needed = wanted.flatMap(({ files }) => files).reduce((sum, { file }) => sum + file.size, 0);
      const { storage_left: left } = await get('user/storage');
      if (needed > left) throw new Problem(`needs ${humanSize(needed)} and the account has ${humanSize(left)} left; delete models or enlarge the plan`);
      return wanted;
    },
  });
  addToOpen = null;
  if (confirmed) send(confirmed);
}

/** How many names are looked up: each is a request. */
const NAMES_LOOKED_UP = 12;

/** Notes which names the account has already. Without an answer, none. */
async function noteTaken(planned) {
  const named = planned.filter(({ isLeftOver }) => !isLeftOver).slice(0, NAMES_LOOKED_UP);
  await Promise.all(named.map(async (one) => {
    const found = await get(query('rawmodel', { q: one.name, itemsPerPage: 50 })).catch(() => ({ data: [] }));
    one.taken = found.data.some(({ name }) => name === one.name) ? one.name : null;
  }));
}

function planRow(one, planned, formats, move) {
  if (one.isLeftOver) {
    return h('li', {}, h('p', {}, icon('warning', 16), ` Not uploaded: ${counted(one.files.length, 'file')} that belong to no model here`),
      filesOf(one, planned, move, true));
  }
  const size = one.files.reduce((sum, { file }) => sum + file.size, 0);
  const known = formats.read.map((format) => format.extension).join(', ');
  return h('li', { 'aria-label': one.name },
    h('label.field', {}, h('span', {}, 'Name'),
      h('input', { value: one.name, required: true, maxlength: 255, pattern: '.*\\S.*', title: 'The name needs a character that is not a space', oninput: (event) => { one.name = event.target.value.trim(); } })),
    h('p.hint', {}, `${counted(one.files.length, 'file')}, ${bytes(size)}`, one.main && one.files.length > 1 ? `, model ${one.main}` : ''),
    (one.problems ?? []).map((sentence) => h('p.hint.bad', {}, icon('warning', 16), ` ${sentence}`)),
    one.taken === one.name && h('p.hint.noted', {}, icon('warning', 16), ' There is a model of this name already. This becomes another one beside it.'),
    one.leftOut ? h('p.hint.noted', {}, icon('warning', 16), ` ${one.leftOut}`) : null,
    one.main ? null : h('p.hint.bad', {}, icon('warning', 16), ` No file in a format that is read here (${known}).`),
    planned.length > 1 || one.files.length > 1 ? filesOf(one, planned, move, false) : null);
}

/** The files of a model, each with a choice of the model that it belongs to. */
function filesOf(group, planned, move, open) {
  const others = planned.filter((other) => other !== group && !other.isLeftOver);
  const choice = (one) => h('select', { 'aria-label': `Model of ${one.path}`, onchange: (event) => {
    const chosen = event.target.value;
    move(one, group, chosen.startsWith('in ') ? others[Number(chosen.slice(3))] : chosen);
  } },
    h('option', { value: 'here' }, group.isLeftOver ? 'not uploaded' : group.name),
    others.map((other, at) => h('option', { value: `in ${at}` }, other.name)),
    h('option', { value: 'own' }, 'a model of its own'),
    group.isLeftOver ? null : h('option', { value: 'none' }, 'not uploaded'));
  return h('details', { open }, h('summary', {}, 'Files', h('span.unseen', {}, group.isLeftOver ? ' that are not uploaded' : ` of ${group.name}`)),
    h('ul', {}, group.files.map((one) => h('li.row.apart', {}, h('span.cut', {}, one.path), choice(one)))));
}

function send(planned) {
  for (const one of planned) {
    const transfer = new Transfer(one, update);
    transfers.push(transfer);
  }
  pump();
  update();
}

// What was lost with the connection goes on by itself when the service is there again.
onReach((isLost) => {
  if (isLost) return;
  for (const transfer of transfers) if (transfer.state === 'failed' && transfer.goesOn()) transfer.again();
  pump();
  update();
});

function pump() {
  const running = transfers.filter((transfer) => transfer.state === 'sending').length;
  const next = transfers.filter((transfer) => transfer.state === 'waiting').slice(0, Math.max(0, AT_ONCE - running));
  for (const transfer of next) transfer.run().finally(() => {
    changed();
    pump();
    followImports();
  });
}

let isFollowing = false;

/** Looks how the imports go, until none of the shown uploads has one that goes on. */
async function followImports() {
  if (isFollowing) return;
  isFollowing = true;
  const oldest = () => transfers.filter(({ isImporting }) => isImporting).slice(0, IMPORTS_LOOKED_AT);
  while (oldest().length) {
    if (!document.hidden) await Promise.all(oldest().map((transfer) => transfer.askImport()));
    await new Promise((resume) => setTimeout(resume, IMPORT_PAUSE_MS));
  }
  isFollowing = false;
}

const rows = new Map();

function update() {
  panel.hidden = transfers.length === 0;
  const open = transfers.filter(({ state }) => state === 'waiting' || state === 'sending');
  unended.count = open.length;
  onbeforeunload = open.length ? (event) => event.preventDefault() : null;
  if (!panel.firstChild) {
    const list = h('ul', { id: 'uploads-list' });
    const fold = h('button.quiet.small', { type: 'button', 'aria-controls': list.id, 'aria-expanded': 'true', onclick: () => {
      list.hidden = !list.hidden;
      fold.setAttribute('aria-expanded', String(!list.hidden));
      fold.textContent = list.hidden ? 'Show' : 'Hide';
    } }, 'Hide');
    fill(panel, h('header', {}, h('h2', {}), fold, h('button.quiet.icon-only', { type: 'button', 'aria-label': 'Clear finished uploads', onclick: clear }, icon('close', 18))), list);
  }
  const title = open.length ? `Uploading ${counted(open.length, 'model')}` : 'Uploads';
  const heading = panel.querySelector('h2');
  if (heading.textContent !== title) heading.textContent = title;
  const list = panel.querySelector('ul');
  for (const transfer of transfers) {
    if (!rows.has(transfer)) {
      rows.set(transfer, row(transfer));
      list.prepend(rows.get(transfer).element);
    }
    rows.get(transfer).update();
  }
  for (const [transfer, { element }] of rows) {
    if (transfers.includes(transfer)) continue;
    element.remove();
    rows.delete(transfer);
  }
}

function clear() {
  transfers = transfers.filter(({ state }) => state === 'waiting' || state === 'sending');
  update();
}

/** The line of one upload; only what changes is written again. */
function row(transfer) {
  const bar = h('progress', { max: 1, 'aria-label': `Upload of ${transfer.name}` });
  const state = h('p.hint');
  const action = h('button.quiet.small', { type: 'button' });
  action.addEventListener('click', () => {
    if (transfer.state === 'failed') {
      transfer.again();
      pump();
    } else if (transfer.state === 'done') {
      location.hash = `#/models/${transfer.id}`;
    } else {
      transfer.cancel();
      transfers = transfers.filter((other) => other !== transfer);
    }
    update();
  });
  const element = h('li', {}, h('div.row.apart', {}, h('strong.cut', {}, transfer.name), action), bar, state);
  const words = { waiting: 'Cancel', sending: 'Cancel', failed: 'Try again', done: 'Show' };
  const update = () => {
    bar.value = transfer.share;
    bar.hidden = transfer.state === 'done' || transfer.state === 'failed';
    action.textContent = words[transfer.state];
    action.setAttribute('aria-label', `${words[transfer.state]}: ${transfer.name}`);
    state.textContent = transfer.says();
    element.className = transfer.hasFailedImport ? 'failed' : transfer.state;
  };
  return { element, update };
}

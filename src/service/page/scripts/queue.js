// What the service works on: imports, and optimizations and conversions of the last week that run or failed.
import { get } from './api.js';
import { KeyedList, badge, empty, progress, since } from './cards.js';
import { fill, h } from './dom.js';
import { assetState, factLine, failureOf, rapidState, shownName, stepOf } from './format.js';
import { resultName } from './tags.js';
import { leftWords, timesLeft } from './time_left.js';

/** Imports are looked for among so many of the newest models. */
const NEWEST = 50;

export async function queue({ place, life }) {
  const running = h('ul.jobs', { 'aria-label': 'Importing, queued and running' });
  const failed = h('ul.jobs', { 'aria-label': 'Failed' });
  const failedPart = h('section', { 'aria-labelledby': 'failed-title' }, h('h2', { id: 'failed-title' }, 'Failed'), failed);
  const nothing = h('div');
  const runningRows = new KeyedList(running, row);
  const failedRows = new KeyedList(failed, row);
  const refresh = async () => {
    const [jobs, newest, conversions, left] = await Promise.all([
      get('rawmodel/jobs'), get(`rawmodel?itemsPerPage=${NEWEST}`), get('../../page/conversions.json'), timesLeft()]);
    const imports = newest.data.map((asset) => ({ asset, state: assetState(asset) })).filter(({ state }) => state.kind === 'busy' || state.kind === 'bad');
    const rows = [...(await Promise.all(imports.map((one) => importJob(one, left)))), ...conversions.data.map(conversion).reverse(),
      ...jobs.data.map((rapid) => optimization(rapid, left))];
    const keyed = (list) => list.map((job) => [JSON.stringify(job), job]);
    const busy = rows.filter(({ state }) => state.kind === 'busy');
    const bad = rows.filter(({ state }) => state.kind === 'bad');
    runningRows.show(keyed(busy));
    failedRows.show(keyed(bad));
    running.hidden = busy.length === 0;
    failedPart.hidden = bad.length === 0;
    fill(nothing, busy.length ? null : empty('queue', 'Nothing is under way', 'Imports, optimizations and conversions appear here while they wait and run.', null));
    return busy.length > 0;
  };
  fill(place, h('header.view-head', {}, h('h1', {}, 'Queue')), running, nothing, failedPart);
  await life.keep(refresh);
}

async function importJob({ asset, state }, left) {
  // Lists say no progress; the record of a model that is worked on does. Those that only wait would use up the requests of the account.
  const isWorkedOn = state.kind === 'busy' && asset.upload_status !== 'waiting';
  const { data } = isWorkedOn ? await get(`rawmodel/${asset.id}`) : { data: asset };
  return { href: `#/models/${asset.id}`, kind: 'Import', name: shownName(asset.name), state, isRunning: isWorkedOn, percent: data.progress,
    note: state.kind === 'bad' ? data.error_message : data.import_status, left: leftWords(left.models[asset.id]), since: asset.created_at };
}

const CONVERSION_STATES = {
  queued: { kind: 'busy', word: 'Queued' },
  executing: { kind: 'busy', word: 'Converting' },
  failed: { kind: 'bad', word: 'Failed' },
};

function conversion({ model_id: id, model, created_at: since, job }) {
  const isRunning = job.status === 'executing';
  return { href: `#/models/${id}`, kind: `Conversion to ${job.formats.join(', ').toUpperCase()}`, name: shownName(model), state: CONVERSION_STATES[job.status], isRunning,
    percent: job.progress, note: job.message, since };
}

function optimization(rapid, left) {
  const state = rapidState(rapid);
  return { href: `#/results/${rapid.id}`, kind: rapid.preset_name ?? 'Own settings', name: resultName(rapid), state, isRunning: state.isRunning, percent: rapid.progress,
    note: state.kind === 'bad' ? failureOf(rapid) : stepOf(rapid), left: leftWords(left.results[rapid.id]), since: rapid.created_at };
}

function row(job) {
  return h('li', {},
    h('div.row.apart', {}, h('a', { href: job.href }, h('strong', {}, job.name)), badge(job.state)),
    h('p.hint', {}, factLine([job.kind, since(job.since), job.left])),
    job.isRunning ? progress(job.percent || null, `${job.name}: ${job.state.word}`) : null,
    job.note ? h('p', {}, job.note) : null);
}

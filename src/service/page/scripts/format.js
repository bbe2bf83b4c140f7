// Numbers, sizes, times and states as people read them.

const LANGUAGE = 'en';
const whole = new Intl.NumberFormat(LANGUAGE);
const compact = new Intl.NumberFormat(LANGUAGE, { notation: 'compact', maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto', style: 'short' });

/** `298,378` */
export const number = (value) => whole.format(value);

/** `298.4K` */
export const short = (value) => compact.format(value);

/** A name as it is shown: one without a visible character would be an empty card. */
export const shownName = (name) => (/^[\s\p{C}]*$/u.test(name) ? '(no name)' : name);

/** Bytes in decimal units, as file managers show them: `24.1 MB`. */
export function bytes(count) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = Number(count) || 0;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.5 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** The change from one number to another: `−66%`, `+12%`, `same`. */
export function change(before, after) {
  if (before === after) return 'same';
  if (!before) return '';
  const percent = percentOf(before, after);
  if (percent === 0) return '±0%';
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent)}%`;
}

/** The change in whole percent. */
const percentOf = (before, after) => (before ? Math.round(((after - before) / before) * 100) : 0);

/** Whether the change is a decrease that `change` shows. */
export const isLess = (before, after) => percentOf(before, after) < 0;

/** Timestamps come as ISO 8601 or as `YYYY-MM-DD HH:MM:SS` in UTC. */
export function moment(text) {
  if (!text) return null;
  const iso = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** `5 minutes ago` */
export function ago(text) {
  const time = moment(text);
  if (!time) return 'never';
  const seconds = (time.getTime() - Date.now()) / 1000;
  const steps = [['second', 60], ['minute', 60], ['hour', 24], ['day', 30], ['month', 12], ['year', Infinity]];
  let value = seconds;
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return unit === 'second' ? 'just now' : relative.format(Math.round(value), unit);
    value /= size;
  }
  return '';
}

/** Facts in one line, texts or elements, as children of an element. It breaks only between them and in lists. */
export const factLine = (facts) => facts.filter(Boolean)
  .flatMap((fact, at) => [at ? ' · ' : '', typeof fact === 'string' ? fact.replaceAll(/(?<!,) /g, '\u00a0') : fact]);

/** The whole moment, for titles. */
export function exact(text) {
  const time = moment(text);
  return time ? time.toLocaleString(LANGUAGE, { dateStyle: 'medium', timeStyle: 'medium' }) : '';
}

/**
 * The state of a base asset, by the word that the drive and the commands have for it (docs/semantics.md, "States").
 * @returns {{word: string, kind: 'idle'|'busy'|'good'|'bad'}}
 */
export function assetState(asset) {
  const status = String(asset.upload_status).toLowerCase();
  if (status === 'incomplete') return { word: 'Uploading', kind: 'idle' };
  if (status === 'complete') return { word: 'Complete', kind: 'good' };
  if (status.includes('failed')) return { word: status.includes('limit') ? 'Failed: too large' : 'Failed', kind: 'bad' };
  return { word: 'Importing', kind: 'busy' };
}

/**
 * The state of an optimization, in the same words.
 * @returns {{word: string, kind: 'idle'|'busy'|'good'|'bad', isRunning?: boolean}}
 */
export function rapidState(rapid) {
  const status = String(rapid.optimization_status).toLowerCase();
  if (status === 'done') return { word: 'Done', kind: 'good' };
  if (status.includes('failed')) return { word: 'Failed', kind: 'bad' };
  const isRunning = rapid.job_status?.status === 'executing';
  return { word: isRunning ? 'Running' : 'Queued', kind: 'busy', isRunning };
}

/** What an optimization does now or waits for; null if nothing is said. The last step is over before the result is recorded. */
export const stepOf = (rapid) => (rapid.processing_step === 'done' ? 'finishing' : rapid.processing_step || null);

/** `1 file`, `3 files` */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** The extension of a file name in lower case, without the dot. */
export function extension(name) {
  const base = name.split('/').pop();
  const dot = base.lastIndexOf('.');
  return dot > 0 ? base.slice(dot + 1).toLowerCase() : '';
}

/** Why an optimization failed: its job says it in a JSON text. */
export function failureOf(rapid) {
  try {
    const output = JSON.parse(rapid.job_status?.output ?? '{}');
    return output.error ?? output.message ?? output.reason ?? null;
  } catch {
    return rapid.job_status.output;
  }
}

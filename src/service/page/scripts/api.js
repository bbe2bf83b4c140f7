// Calls of the service's public API, with the token of this browser. A refusal becomes a `Problem` that says what to do.
import { lost } from './reach.js';
import { endSession, session } from './session.js';

/** Why a call failed, in a sentence for people. */
export class Problem extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, errors?: Record<string, string[]>}} [details] `errors`: field by field
   */
  constructor(message, { status = 0, errors = {} } = {}) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/** Calls again after a 429 only if the service asks for less patience than this. */
const MAX_PAUSE_SECS = 65;

let signedOut = () => {};

/** Sets what happens when the service does not accept the token any more. */
export const onSignedOut = (listener) => {
  signedOut = listener;
};

async function call(method, path, body, { token = session()?.token, key } = {}) {
  const headers = { Accept: 'application/json' };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (key) headers['Idempotency-Key'] = key;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store' };
  for (;;) {
    const response = await fetch(`api/v2/${path}`, request).catch(() => {
      lost();
      const next = method === 'GET' ? 'What is shown is read again when it does' : 'Leave this open, and press the button again when it does: then nothing is done or paid twice';
      throw Object.assign(new Problem(`The service does not answer. ${next}. Check that "assetfs serve", or "assetfs mount" with "--local", still runs.`), { isLost: true });
    });
    const pause = Number(response.headers.get('Retry-After'));
    if (response.status === 429 && pause > 0 && pause <= MAX_PAUSE_SECS) {
      await new Promise((resume) => setTimeout(resume, pause * 1000));
      continue;
    }
    if (response.ok) return response;
    throw await refusal(response);
  }
}

async function refusal(response) {
  const text = await response.text();
  let said = {};
  try {
    said = JSON.parse(text);
  } catch {
    said = { message: text };
  }
  if (Array.isArray(said)) [said] = said;
  if (response.status === 401) {
    if (session()) {
      endSession();
      signedOut();
    }
    return new Problem('The token is not valid any more. Sign in again.', { status: 401 });
  }
  const message = inWordsOfPage(said?.message || `The service answered with status ${response.status}.`);
  const errors = Object.entries(said?.errors ?? {}).map(([field, texts]) => [field, [texts].flat().map(inWordsOfPage)]);
  return new Problem(message, { status: response.status, errors: Object.fromEntries(errors) });
}

/** The API calls things by other names than the page. */
const inWordsOfPage = (text) => String(text).replaceAll(/\b(b|B)ase asset/g, (_, first) => (first === 'B' ? 'Model' : 'model'))
  .replaceAll(/\b(r|R)apid model/g, (_, first) => (first === 'R' ? 'Result' : 'result'));

/** Reads an answer: JSON if it is, else text. */
async function content(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fails if the service does not accept `token`. */
export const check = (token) => call('GET', 'user/rapidpoints', undefined, { token });

export const get = async (path) => content(await call('GET', path));
export const post = async (path, body = {}) => content(await call('POST', path, body));

/**
 * A way to ask for something that costs a point: the same wish, repeated because its answer was lost, is paid once.
 * @returns {(path: string, body: any) => Promise<any>}
 */
export function paidOnce() {
  const keys = new Map();
  return async (path, body) => {
    const wish = JSON.stringify([path, body]);
    if (!keys.has(wish)) keys.set(wish, newKey());
    return content(await call('POST', path, body, { key: keys.get(wish) }));
  };
}

const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export const put = async (path, body) => content(await call('PUT', path, body));
export const patch = async (path, body) => content(await call('PATCH', path, body));
export const remove = async (path) => content(await call('DELETE', path));

/** An address that may be absent: `null` where there is nothing. */
export async function getIfThere(path) {
  try {
    return await get(path);
  } catch (problem) {
    if (problem.status === 404) return null;
    throw problem;
  }
}

/** Fetches a file that needs the token. */
export const bytesAt = async (path) => (await call('GET', path)).arrayBuffer();

/** Fetches a file that needs the token, and hands it to the browser's downloads. */
export const download = async (path, name) => save(await bytesAt(path), name);

/** Hands bytes to the browser's downloads. */
export function save(content, name) {
  const blob = new Blob([content], { type: 'application/octet-stream' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Reads a text file at a signed URL. */
export async function text(url, signal) {
  const response = await fetch(url, { credentials: 'omit', signal });
  if (!response.ok) throw new Problem('The file cannot be read. Reload the page and try again.', { status: response.status });
  return response.text();
}

/** A path with its query; values that are empty are left out. */
export function query(path, values) {
  const pairs = Object.entries(values).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  const search = new URLSearchParams(pairs);
  return pairs.length ? `${path}?${search}` : path;
}

let facts = null;

/** What the service knows about formats and the keys of presets; read once. */
export async function serviceFacts() {
  facts ??= fetch('page/facts.json').then((response) => response.json()).catch((problem) => {
    facts = null;
    lost();
    throw Object.assign(new Problem(`The service does not answer: ${problem.message}`), { isLost: true });
  });
  return facts;
}

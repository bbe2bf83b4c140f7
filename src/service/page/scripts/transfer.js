// One upload: start, the files, complete. Failed files are tried again; files that arrived are not sent twice.
import { Problem, get, getIfThere, paidOnce, remove } from './api.js';
import { lost } from './reach.js';
import { assetState, bytes } from './format.js';
import { changed } from './live.js';
import { leftWords } from './time_left.js';

const TRIES = 3;
const PAUSE_MS = 1_500;
/** A transfer whose connection broke goes on by itself so many times. */
const GOES_ON = 20;
/** The time that is left is said when the transfer has run for so long. */
const MEASURED_MS = 3_000;
/** Files of a model that are sent at the same time. */
const FILES_AT_ONCE = 3;

export class Transfer {
  /** @type {'waiting'|'sending'|'done'|'failed'} */
  state = 'waiting';
  /** The base asset, once the upload has started. */
  id = null;
  #planned;
  #onChange;
  #urls = null;
  #arrived = new Set();
  /** When it began, or began again, and what was sent then. */
  #from = { at: 0, share: 0 };
  #sent = new Map();
  #cancelled = new AbortController();
  #failure = '';
  /** The state of the model after its import, and why that failed; null before. @type {{kind: string, reason?: string}|null} */
  #import = null;
  /** Whether the connection broke, and how often it has gone on after that. */
  #isLost = false;
  #wentOn = 0;
  /** Asks for the upload once, however often its answer is lost. */
  #begin = paidOnce();
  /** The signed addresses are not valid any more. */
  #isExpired = false;

  /** @param {import('./upload_plan.js').Planned} planned @param {() => void} onChange */
  constructor(planned, onChange) {
    this.#planned = planned;
    this.#onChange = onChange;
    this.name = planned.name;
    this.size = planned.files.reduce((sum, { file }) => sum + file.size, 0);
  }

  get share() {
    const sent = [...this.#sent.values()].reduce((sum, count) => sum + count, 0);
    return this.size ? Math.min(1, sent / this.size) : 1;
  }

  /** The state in a sentence. */
  says() {
    if (this.state === 'failed') return this.#failure;
    if (this.state === 'waiting') return 'Waiting for other uploads';
    if (this.hasFailedImport) return `Uploaded, and could not be imported: ${this.#import.reason}`;
    if (this.state === 'done') return `Uploaded, ${bytes(this.size)}${this.#import ? '' : ' · Importing'}`;
    return [`${bytes(this.share * this.size)} of ${bytes(this.size)}`, leftWords(this.#secondsLeft())].filter(Boolean).join(' · ');
  }

  get hasFailedImport() {
    return this.#import?.kind === 'bad';
  }

  /** Whether the files have arrived and what became of the import is not known yet. */
  get isImporting() {
    return this.state === 'done' && !this.#import;
  }

  /** At the mean speed so far. */
  #secondsLeft() {
    const [past, sent] = [performance.now() - this.#from.at, this.share - this.#from.share];
    return past < MEASURED_MS || sent <= 0 ? undefined : (past / 1_000) * ((1 - this.share) / sent);
  }

  cancel() {
    this.#cancelled.abort();
    if (this.id && this.state !== 'done') remove(`rawmodel/${this.id}`).catch(() => {});
  }

  /** Whether it may go on by itself after a break of the connection. */
  goesOn() {
    return this.#isLost && (this.#wentOn += 1) <= GOES_ON;
  }

  again() {
    if (this.#isExpired) {
      remove(`rawmodel/${this.id}`).catch(() => {});
      this.#urls = null;
      this.#begin = paidOnce();
      this.#arrived.clear();
      this.#sent.clear();
      this.#isExpired = false;
    }
    this.state = 'waiting';
    this.#failure = '';
  }

  async run() {
    this.state = 'sending';
    this.#from = { at: performance.now(), share: this.share };
    this.#onChange();
    try {
      await this.#start();
      const waiting = this.#planned.files.filter(({ path }) => !this.#arrived.has(path));
      await Promise.all(Array.from({ length: FILES_AT_ONCE }, () => this.#sendAll(waiting)));
      await get(`rawmodel/${this.id}/api-upload/complete`);
      this.state = 'done';
    } catch (problem) {
      this.state = 'failed';
      this.#isLost = Boolean(problem.isLost);
      this.#failure = this.#isLost ? 'The connection broke, or a file changed on disk. It goes on by itself when the service answers.' : problem.message;
      if (this.#isLost) lost();
    }
    this.#onChange();
  }

  /** Asks whether the import has ended. A model that is gone, or a session that has ended, ends the question. */
  async askImport() {
    const answer = await getIfThere(`rawmodel/${this.id}`).catch((problem) => (problem.isLost ? undefined : null));
    if (answer === undefined) return;
    const { kind, word } = answer ? assetState(answer.data) : { kind: 'gone' };
    if (answer && (kind === 'busy' || kind === 'idle')) return;
    this.#import = { kind, reason: answer?.data.error_message ?? word };
    this.#onChange();
    changed();
  }

  async #start() {
    if (this.#urls) return;
    const { name, files, isZip } = this.#planned;
    const started = await this.#begin('rawmodel/api-upload/start', {
      model_name: name, filenames: files.map(({ path }) => path), is_zip: isZip });
    this.id = started.id;
    this.#urls = started.links.s3_upload_urls;
  }

  async #sendAll(waiting) {
    for (let next = waiting.shift(); next; next = waiting.shift()) await this.#send(next);
  }

  async #send({ path, file }) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#put(path, file);
        this.#arrived.add(path);
        return;
      } catch (problem) {
        this.#sent.set(path, 0);
        if (this.#cancelled.signal.aborted || attempt === TRIES || !problem.isPassing) throw problem;
        await new Promise((resume) => setTimeout(resume, PAUSE_MS * attempt));
      }
    }
  }

  /** Sends a file. `fetch` reports no progress of an upload, so this is an XMLHttpRequest. */
  #put(path, file) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const fail = (message, isPassing, isLost = false) => reject(Object.assign(new Problem(message), { isPassing, isLost }));
      request.open('PUT', this.#urls[path]);
      request.upload.addEventListener('progress', (event) => {
        this.#sent.set(path, event.loaded);
        this.#onChange();
      });
      request.addEventListener('load', () => {
        if (request.status >= 200 && request.status < 300) {
          this.#sent.set(path, file.size);
          resolve();
        } else {
          this.#isExpired ||= request.status === 403;
          fail(explained(request), request.status >= 500);
        }
      });
      request.addEventListener('error', () => fail(`${path} could not be sent.`, true, true));
      request.addEventListener('abort', () => fail('The upload was cancelled.', false));
      this.#cancelled.signal.addEventListener('abort', () => request.abort());
      request.send(file);
    });
  }
}

function explained(request) {
  if (request.status === 413) return 'There is not enough storage left. Delete models that are not needed, then try again.';
  if (request.status === 403) return 'The upload took longer than its addresses are valid. Try again: it starts from the beginning.';
  try {
    return JSON.parse(request.responseText).message;
  } catch {
    return `The storage answered with status ${request.status}. Try again.`;
  }
}

// What is typed into the preset editor and not saved yet. It is kept in this browser, so that a closed tab loses nothing.
import { DRAFT_KEYS } from './session.js';

/**
 * `text` is a JSON that cannot be read yet.
 * @typedef {{name: string, description: string, rule: any, config: any, text?: string}} Draft
 */

/** Maximum number of tabs that edit one preset with drafts of their own; a further one has the draft of the first. */
const MAX_EDITORS = 9;

/**
 * The draft of an editor until `signal` aborts: one that was left, or a new one. An editor of the same preset in another tab has
 * its own.
 * @param {number|string} id of the preset, or what a new one is made from
 */
export async function ownDraft(id, signal) {
  const ids = Array.from({ length: MAX_EDITORS }, (_, tab) => (tab ? `${id}-${tab + 1}` : `${id}`));
  for (const own of [...ids.filter((one) => draftOf(one).read()), ...ids]) {
    if (await isOwn(`${DRAFT_KEYS}${own}`, signal)) return draftOf(own);
  }
  return draftOf(id);
}

/** Whether no other tab has the draft. Then it is this one's until `signal` aborts. A page over plain http has no locks between tabs. */
const isOwn = (key, signal) => new Promise((resolve) => {
  if (!navigator.locks) return resolve(true);
  return navigator.locks.request(key, { ifAvailable: true }, (lock) => {
    resolve(Boolean(lock));
    return lock && !signal.aborted && new Promise((end) => signal.addEventListener('abort', end));
  }).catch(() => resolve(true));
});

function draftOf(id) {
  const key = `${DRAFT_KEYS}${id}`;
  return {
    /** @returns {{draft: Draft, since: string, opened?: any}|null} `opened` is the preset that the changes were made to. */
    read() {
      try {
        return JSON.parse(localStorage.getItem(key));
      } catch {
        return null;
      }
    },
    /** @param {Draft} draft @param {any} opened */
    keep(draft, opened) {
      try {
        localStorage.setItem(key, JSON.stringify({ draft, opened, since: new Date().toISOString() }));
      } catch {
        // Without room in the browser the draft is only in the tab, which asks before it is left.
      }
    },
    drop: () => localStorage.removeItem(key),
  };
}

/** Where two configurations differ: `path: before → after`. */
export function differences(before, after, path = '') {
  const isTree = (value) => typeof value === 'object' && value !== null;
  if (isTree(before) && isTree(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => differences(before[key], after[key], path ? `${path}.${key}` : key));
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const words = (value) => (value === undefined ? 'absent' : JSON.stringify(value));
  return [`${path}: ${words(before)} → ${words(after)}`];
}

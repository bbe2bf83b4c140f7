// What is typed into the preset editor and not saved yet. It is kept in this browser, so that a closed tab loses nothing.
import { DRAFT_KEYS } from './session.js';

/** @typedef {{name: string, description: string, rule: any, config: any, text?: string}} Draft `text` is a JSON that cannot be read yet. */

/** @param {number|string} id of the preset, or what a new one is made from */
export function draftOf(id) {
  const key = `${DRAFT_KEYS}${id}`;
  return {
    /** @returns {{draft: Draft, since: string}|null} */
    read() {
      try {
        return JSON.parse(localStorage.getItem(key));
      } catch {
        return null;
      }
    },
    /** @param {Draft} draft */
    keep(draft) {
      try {
        localStorage.setItem(key, JSON.stringify({ draft, since: new Date().toISOString() }));
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

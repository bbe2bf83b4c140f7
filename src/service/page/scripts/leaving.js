// Asks before something that is not saved is left: by a link, by Back, or by closing the tab.
import { h } from './dom.js';
import { ask } from './notices.js';

/** @type {(() => string|null)|null} What would be lost, in a sentence; null if nothing would be. */
let unsaved = null;
/** The question is open. */
let isAsking = false;

addEventListener('beforeunload', (event) => unsaved?.() && event.preventDefault());

/** Asks `what` before the view is left, until `signal` aborts. */
export function holdBack(what, signal) {
  unsaved = what;
  signal.addEventListener('abort', () => { if (unsaved === what) unsaved = null; });
}

/**
 * Whether the view may be left now. While the question is open, another wish to leave does not open it again.
 * @param {string|null|undefined} sentence what would be lost
 */
export async function mayLeave(sentence = unsaved?.(), words = { title: 'Leave without saving?', action: 'Leave' }) {
  if (!sentence) return true;
  if (isAsking) return false;
  isAsking = true;
  const sure = await ask({ ...words, danger: true, body: h('p', {}, sentence) });
  isAsking = false;
  if (sure === null) return false;
  unsaved = null;
  return true;
}

export const holdsBack = () => Boolean(unsaved?.());

// The token of this browser. All tabs share it, and it is there after a reload, until somebody signs out.

const KEY = 'assetfs.session';
/** The start of the keys of what is not saved yet (preset_draft.js). */
export const DRAFT_KEYS = 'assetfs.draft.';

/** @typedef {{token: string, isOwn: boolean}} Session `isOwn`: this page made the token, so signing out deletes it. */

/** @returns {Session|null} */
export function session() {
  try {
    return JSON.parse(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

/** @param {Session} value */
export const keepSession = (value) => localStorage.setItem(KEY, JSON.stringify(value));

/** Forgets the token. What is not saved stays, because a token can end while somebody types. */
export const endSession = () => localStorage.removeItem(KEY);

const draftKeys = () => Object.keys(localStorage).filter((key) => key.startsWith(DRAFT_KEYS));

/** Whether a preset has changes that are not saved, in this tab or in another one. */
export const hasDrafts = () => draftKeys().length > 0;

/** Forgets what was not saved, when somebody signs out. */
export const forgetDrafts = () => draftKeys().forEach((key) => localStorage.removeItem(key));

/** Calls `listener` when another tab has signed in or out. */
export const onSessionElsewhere = (listener) => addEventListener('storage', ({ key }) => (key === KEY || key === null) && listener());

/** The number of the token, which is the part before the bar. */
export const tokenId = () => Number(session()?.token.split('|')[0]);

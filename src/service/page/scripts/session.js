// The token of this tab. It is kept in sessionStorage: other tabs and later visits sign in again.

const KEY = 'assetfs.session';

/** @typedef {{token: string, isOwn: boolean}} Session `isOwn`: this page made the token, so signing out deletes it. */

/** @returns {Session|null} */
export function session() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

/** @param {Session} value */
export const keepSession = (value) => sessionStorage.setItem(KEY, JSON.stringify(value));

export const endSession = () => sessionStorage.removeItem(KEY);

/** The number of the token, which is the part before the bar. */
export const tokenId = () => Number(session()?.token.split('|')[0]);

// About how long what is under way still takes, in the words of the drive.
import { get } from './api.js';

/** The seconds that are left, by the ids of models that are imported and of results that are made; those that nobody can tell are absent. */
export const timesLeft = () => get('../../page/time_left.json').catch(() => ({ models: {}, results: {} }));

/** `about 50 s left`; null if it is not known. @param {number|undefined} seconds */
export function leftWords(seconds) {
  if (seconds === undefined) return null;
  if (seconds < 10) return 'a few seconds left';
  return seconds < 90 ? `about ${Math.ceil(seconds / 10) * 10} s left` : `about ${Math.ceil(seconds / 60)} min left`;
}

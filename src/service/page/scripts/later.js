// Scripts that the first view does without: they are read when they are first needed, or when the page has nothing else to do.
import { Problem } from './api.js';
import { lost } from './reach.js';

/** What reads the scripts that were not needed yet. */
const loaders = new Set();

/** The function `name` of a script that is read when it is first called. It gets `given` before what it is called with. */
export function later(load, name, ...given) {
  loaders.add(load);
  return async (...more) => {
    const module = await load().catch(() => {
      lost();
      // A browser does not ask again for a script that it could not read, until the page is loaded again.
      throw Object.assign(new Problem('A part of the page could not be loaded from the service'), { isLost: true, isStale: true });
    });
    return module[name](...given, ...more);
  };
}

/** Reads them now, without waiting. */
export function readAhead() {
  for (const load of loaders) load().catch(() => {});
  loaders.clear();
}

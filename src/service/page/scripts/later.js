// Scripts that the first view does not need. They are loaded when one of their functions is first called, or in advance when
// the first view is done.
import { Problem } from './api.js';
import { lost } from './reach.js';

/** Loads the scripts that were not loaded yet. */
const loaders = new Set();

/** The function `name` of a script that is loaded when it is first called. `given` are its first arguments. */
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

/** Begins to load them now. */
export function readAhead() {
  for (const load of loaders) load().catch(() => {});
  loaders.clear();
}

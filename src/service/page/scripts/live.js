// Keeps what is shown up to date: asks again while something is under way, and stops when the view is left or hidden.
import { onReach } from './reach.js';

const BUSY_MS = 1_200;
const IDLE_MS = 10_000;

/** The end of a view. `signal` aborts when the view is left. */
export class Life {
  #controller = new AbortController();
  /** What a view does when only the query of its address changes. @type {((query: URLSearchParams) => void)|null} */
  onQuery = null;

  get signal() {
    return this.#controller.signal;
  }

  end() {
    this.#controller.abort();
  }

  /**
   * Calls `refresh` now and again later: soon if it returned true (something is under way), else after a while.
   * The first failure is thrown; later ones are passed over, and the next turn tries again.
   * @param {() => Promise<boolean>} refresh
   */
  async keep(refresh) {
    let isBusy = await refresh();
    let timer = null;
    let isRunning = false;
    let isOutdated = false;
    const turn = async () => {
      // What changes during a refresh may not be in its answer.
      isOutdated = isRunning;
      if (this.signal.aborted || isRunning) return;
      clearTimeout(timer);
      isRunning = true;
      if (!document.hidden) isBusy = await refresh().catch(() => isBusy);
      isRunning = false;
      if (this.signal.aborted) return;
      timer = setTimeout(turn, isOutdated ? 0 : isBusy ? BUSY_MS : IDLE_MS);
    };
    timer = setTimeout(turn, isBusy ? BUSY_MS : IDLE_MS);
    this.signal.addEventListener('abort', () => clearTimeout(timer));
    document.addEventListener('visibilitychange', () => document.hidden || turn(), { signal: this.signal });
    document.addEventListener('assetfs:changed', turn, { signal: this.signal });
    onReach((isLost) => isLost || turn(), this.signal);
  }
}

/** Says that something was changed here, so that what is shown is read again at once. */
export const changed = () => document.dispatchEvent(new Event('assetfs:changed'));

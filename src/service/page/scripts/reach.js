// Whether the service answers. When a call gets no answer, this asks again by itself until there is one, and says so with the
// event `assetfs:reach` of the document.

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;

let isLost = false;

/** Notes that a call had no answer. */
export function lost() {
  if (isLost) return;
  isLost = true;
  tell();
  knock();
}

/** Calls `listener` with whether the service is lost, whenever that changes, until `signal` aborts. */
export const onReach = (listener, signal) => document.addEventListener('assetfs:reach', () => listener(isLost), { signal });

const tell = () => document.dispatchEvent(new Event('assetfs:reach'));

async function knock() {
  for (let pause = FIRST_PAUSE_MS; isLost; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    await new Promise((resume) => {
      const timer = setTimeout(resume, pause);
      addEventListener('online', () => {
        clearTimeout(timer);
        resume();
      }, { once: true });
    });
    const answer = await fetch('page/icon.svg', { cache: 'no-store' }).catch(() => null);
    if (answer?.ok) isLost = false;
  }
  tell();
}

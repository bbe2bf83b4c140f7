// Warnings, errors and the log of a job, read when they are opened.
import { text } from './api.js';
import { fill, h } from './dom.js';

const TITLES = { warning: 'Warnings', error: 'Errors', info: 'Log' };

/** @param {Record<'warning'|'error'|'info', string|null|undefined>} urls */
export function logs(urls) {
  const some = Object.entries(urls).filter(([, url]) => url);
  return h('div.logs', {}, some.map(([kind, url]) => {
    const lines = h('pre', { tabindex: '0' }, '…');
    const details = h('details', {}, h('summary', {}, TITLES[kind]), lines);
    details.addEventListener('toggle', async () => {
      if (!details.open) return;
      const content = await text(url).catch((problem) => problem.message);
      fill(lines, content.trim() || 'Nothing.');
    });
    return details;
  }));
}

// Results that are stale: the service knows it from the notes of drives, and the words are those of `assetfs list`.
import { get } from './api.js';
import { h } from './dom.js';

/** What is known is asked for again after this time, or when something was changed here. */
const MAX_AGE_MS = 8_000;

const REASONS = {
  preset_changed: 'The preset has changed since this was made.',
  source_replaced: 'The model was replaced by a newer version since this was made.',
};

let asked = null;
document.addEventListener('assetfs:changed', () => {
  asked = null;
});

/** Gives each result `stale`: why it is, or `null`. Without an answer, none is. */
export async function withStaleness(rapids) {
  if (!asked || performance.now() - asked.at > MAX_AGE_MS) asked = { at: performance.now(), answer: get('../../page/stale.json').catch(() => ({ stale: {} })) };
  const { stale } = await asked.answer;
  return rapids.map((rapid) => ({ ...rapid, stale: stale[rapid.id] ?? null }));
}

export const staleBadge = ({ stale }) => (stale ? h('span.badge.busy', { title: `${REASONS[stale]} “assetfs run --stale” runs it again.` }, 'Stale') : null);

/** The same as a sentence. */
export const staleLine = ({ stale }) => (stale ? h('p.hint', {}, REASONS[stale], ' ', h('code', {}, 'assetfs run --stale'), ' runs it again, or optimize the model once more.') : null);

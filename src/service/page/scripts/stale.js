// Results that are stale and models that were replaced: the service knows it from the notes of drives, and the words are those of
// `assetfs list`.
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

/** What the service knows. Without an answer, nothing is stale or replaced. */
export function noted() {
  if (!asked || performance.now() - asked.at > MAX_AGE_MS) asked = { at: performance.now(), answer: get('../../page/stale.json').catch(() => ({ stale: {}, replaced: [] })) };
  return asked.answer;
}

/** Gives each result `stale`: why it is, or `null`. */
export async function withStaleness(rapids) {
  const { stale } = await noted();
  return rapids.map((rapid) => ({ ...rapid, stale: stale[rapid.id] ?? null }));
}

/** Names each model as a drive does: one that was replaced has `~` and its id behind its name, and is `replaced`. */
export async function withDriveNames(assets) {
  const replaced = new Set((await noted()).replaced);
  return assets.map((asset) => (replaced.has(asset.id) ? { ...asset, replaced: true, name: `${asset.name}~${asset.id}` } : asset));
}

export const replacedBadge = ({ replaced }) => (replaced ? h('span.badge.idle', { title: 'A newer version has the name of this model.' }, 'Replaced') : null);

export const staleBadge = ({ stale }) => (stale ? h('span.badge.busy', { title: `${REASONS[stale]} “assetfs run --stale” runs it again, unless there is a newer result of its text.` }, 'Stale') : null);

/** The same as a sentence. */
export const staleLine = ({ stale }) => (stale ? h('p.hint', {}, REASONS[stale], ' ', h('code', {}, 'assetfs run --stale'), ' runs it again, unless there is a newer result of its text. Or optimize the model once more.') : null);

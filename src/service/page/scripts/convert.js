// The dialog that converts a model into further formats.
import { get, getIfThere, post, serviceFacts } from './api.js';
import { h } from './dom.js';
import { extension } from './format.js';
import { changed } from './live.js';
import { Problem } from './api.js';
import { ask, say } from './notices.js';

/** The formats that the service would not make of a model: it has them, some of them from the import, or is making them. */
export async function formatsOf(asset, jobs) {
  const [asked, made] = await Promise.all([jobs ?? get(`rawmodel/${asset.id}/processedFormats`), getIfThere(`rawmodel/${asset.id}/downloads/converted`)]);
  const going = asked.filter(({ status }) => status !== 'failed').flatMap((job) => job.formats);
  return new Set([asset.format, ...going, ...Object.keys(made ?? {}).map((name) => extension(name))]);
}

export async function convert(asset) {
  const [{ formats }, jobs] = await Promise.all([serviceFacts(), get(`rawmodel/${asset.id}/processedFormats`)]);
  const there = await formatsOf(asset, jobs);
  const known = new Map(jobs.flatMap((job) => job.formats.map((format) => [format, job])));
  const choice = (format) => {
    const job = known.get(format);
    const isThere = there.has(format);
    const note = format === asset.format ? 'as uploaded' : job && { finished: 'there already', failed: `failed: ${job.message ?? 'try again'}` }[job.status];
    return h('label.check', {}, h('input', { type: 'checkbox', name: 'format', value: format, disabled: isThere }),
      h('span', {}, format.toUpperCase()), note || isThere ? h('span.hint', {}, note || (job ? `${job.status}, ${job.progress}%` : 'there already')) : null);
  };
  const started = await ask({
    title: `Convert ${asset.name}`, action: 'Convert',
    body: h('fieldset.choices', {}, h('legend', {}, 'Formats'), formats.written.map(choice)),
    submit: async (form) => {
      const wanted = new FormData(form).getAll('format');
      if (wanted.length === 0) throw new Problem('Choose at least one format.');
      return post(`rawmodel/${asset.id}/addFormats`, { formats: wanted });
    },
  });
  if (started === null) return;
  say('The conversion is in the queue. Its files appear among those of the model.');
  changed();
}

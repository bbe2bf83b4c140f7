// The dialog that makes an embed, and the one that shows its address and snippet.
import { Problem, get, post } from './api.js';
import { h } from './dom.js';
import { icon } from './icons.js';
import { ask, tell } from './notices.js';
import { copied, reachHint } from './share.js';

/** Switches of the viewer: the key, what it is called, whether it is on at first. */
const SWITCHES = [
  ['enableAnimationControl', 'Button to play and pause animations', true],
  ['enableARBtn', 'Button for augmented reality', true],
  ['enableSimpleMeasurement', 'Width, height and depth', false],
  ['shadowToggle', 'Shadow', true],
];

/** The newest result of a model that a viewer can show stands for the model itself. */
export async function embedResult(asset) {
  const { data } = await get(`rawmodel/${asset.id}/rapidmodels`);
  const [newest] = data.filter(({ downloads }) => downloads?.glb).sort((one, two) => two.id - one.id);
  if (!newest) throw new Problem('A viewer needs a glb, and neither the model nor a result of it is one. Optimize the model with a preset that exports a glb.');
  return createEmbed({ rapid: newest, note: `A viewer needs a glb. It will show the result “${newest.preset_name ?? newest.name}”, the newest that is one.` });
}

/** @param {{rapid?: any, asset?: any, note?: string}} model an optimized model, or an uploaded one in glb format */
export async function createEmbed({ rapid, asset, note }) {
  const color = h('input', { type: 'color', name: 'color', value: '#f3f4f6' });
  const made = await ask({
    title: 'New embed', action: 'Make the embed',
    body: [
      note && h('p', {}, note),
      h('label.field', {}, h('span', {}, 'Name'), h('input', { name: 'name', required: true, maxlength: 255, value: (rapid ?? asset).name })),
      h('fieldset.choices', {}, h('legend', {}, 'Viewer'),
        SWITCHES.map(([key, label, isOn]) => h('label.check', {}, h('input', { type: 'checkbox', name: key, checked: isOn }), h('span', {}, label))),
        h('label.check', {}, h('input', { type: 'checkbox', name: 'plain' }), h('span', {}, 'Background of this colour: '), color)),
      h('label.check', {}, h('input', { type: 'checkbox', name: 'save' }), h('span', {}, 'Keep these settings for later embeds')),
    ],
    submit: (form) => {
      const fields = new FormData(form);
      const config = Object.fromEntries(SWITCHES.map(([key]) => [key, String(fields.has(key))]));
      if (fields.has('plain')) Object.assign(config, { backgroundIsColor: 'true', plainBackgroundColor: fields.get('color') });
      const wish = { name: fields.get('name').trim(), config: JSON.stringify(config), save_user_theme: fields.has('save') };
      return rapid ? post('embeds/create', { model_id: rapid.id, ...wish }) : post('embeds/raw', { raw_model_id: asset.id, ...wish });
    },
  });
  if (made) showSnippet('The embed is made', made.embed_url);
}

/** The address of an embed and the text to put into other pages. */
export function showSnippet(title, url) {
  const snippet = `<iframe src="${url}" title="3D model" width="640" height="480" allow="fullscreen; xr-spatial-tracking" loading="lazy"></iframe>`;
  tell({ title, wide: true, body: [
    copied('Address', url, false), copied('Snippet', snippet, true),
    h('p', {}, h('a', { href: url, target: '_blank', rel: 'noopener' }, icon('open', 16), ' Open in a new tab')),
    h('p.hint', {}, 'Anyone who has the address can see the model. Nothing else of the account is public.'), reachHint(url)] });
}

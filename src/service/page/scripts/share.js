// What is given to other people: a text in a field with a button that copies it, and the link to what the page shows.
import { h } from './dom.js';
import { icon } from './icons.js';
import { copy, tell } from './notices.js';

/** A text to copy. */
export function copied(label, text, isLong) {
  const field = isLong ? h('textarea', { readonly: true, rows: 4 }) : h('input', { readonly: true });
  field.value = text;
  return h('div.field.copied', {}, h('label', {}, h('span', {}, label), field),
    h('button', { type: 'button', 'aria-label': `Copy: ${label}`, onclick: () => copy(text, field) }, icon('copy', 18), h('span', {}, 'Copy')));
}

/** Says so if an address opens on this machine only. */
export function reachHint(address) {
  const host = new URL(address).hostname;
  if (host !== 'localhost' && host !== '[::1]' && !host.startsWith('127.')) return null;
  return h('p.hint', {}, 'This address works on this machine only. For others, unmount the drive if it was mounted with ',
    h('code', {}, '--local'), ', or stop the service. Then run ', h('code', {}, 'assetfs serve --listen 0.0.0.0:8080 --public-url ADDRESS'),
    ', with the address that others reach this machine by.');
}

/** A button that shows the address of this view. Who opens it without a session signs in first and comes here then. */
export const linkButton = (name) => h('button', { type: 'button', onclick: () => tell({ title: `Link to ${name}`, wide: true, body: [
  copied('Address', location.href, false),
  h('p.hint', {}, 'It opens this page for everybody who signs in to this account. People without an account see a model by its embed.'),
  reachHint(location.href)] }) },
icon('link', 18), h('span', {}, 'Link'));

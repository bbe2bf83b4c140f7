// What surrounds every view: navigation, what the account has left, the place for dropped files.
import { get, remove } from './api.js';
import { fill, h } from './dom.js';
import { acceptDrops, panel, unended } from './drops.js';
import { bytes, counted, short } from './format.js';
import { icon } from './icons.js';
import { holdsBack, mayLeave } from './leaving.js';
import { onReach } from './reach.js';
import { endSession, forgetDrafts, hasDrafts, session, tokenId } from './session.js';

const PLACES = [
  ['models', 'Models', 'cube'],
  ['results', 'Results', 'results'],
  ['presets', 'Presets', 'presets'],
  ['embeds', 'Embeds', 'embeds'],
  ['queue', 'Queue', 'queue'],
  ['account', 'Account', 'account'],
];

const USAGE_PAUSE_MS = 30_000;

/** Builds the frame; `main` is where views go. */
export function frame() {
  const main = h('main', { id: 'content', tabindex: '-1' });
  const usage = h('p.usage');
  const nav = h('nav', { 'aria-label': 'Main' },
    h('ul', {}, PLACES.map(([section, label, symbol]) => h('li', {},
      h('a', { href: `#/${section}`, 'data-section': section }, icon(symbol, 20), h('span', {}, label))))));
  const skip = h('a.skip', { href: '#content', onclick: (event) => {
    event.preventDefault();
    main.focus();
  } }, 'Skip to content');
  const header = h('header.side', {},
    h('a.brand', { href: '#/models', 'aria-label': 'assetfs, all models' }, icon('cube', 24), h('span', {}, 'assetfs')),
    nav,
    h('div.side-end', {}, usage,
      h('button.quiet', { type: 'button', onclick: signOut }, icon('leave', 18), h('span', {}, 'Sign out'))));
  keepUsage(usage);
  const banner = h('p.banner', { role: 'status' });
  const element = h('div.frame', {}, skip, header, h('div', {}, banner, main), panel);
  onReach((isLost) => fill(banner, isLost ? 'The service does not answer. This page tries again by itself; nothing that you typed is lost.' : null));
  acceptDrops(element);
  return { element, main };
}

/** Marks the current place in the navigation. */
export function markPlace(section) {
  for (const link of document.querySelectorAll('nav [data-section]')) {
    if (link.dataset.section === section) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

async function keepUsage(place) {
  const show = async () => {
    if (document.hidden || !session()) return;
    const [points, storage] = await Promise.all([get('user/rapidpoints'), get('user/storage')]);
    fill(place, h('span', {}, `${short(points.rapidpoints)} points`), h('span', {}, `${bytes(storage.storage_left)} free`));
  };
  show().catch(() => {});
  const timer = setInterval(() => {
    if (!place.isConnected) clearInterval(timer);
    else show().catch(() => {});
  }, USAGE_PAUSE_MS);
}

async function signOut() {
  const sentences = [
    (holdsBack() || hasDrafts()) && 'Changes of presets that are not saved are removed from this browser, those of other tabs too.',
    unended.count > 0 && `${counted(unended.count, 'upload')} of this tab ${unended.count === 1 ? 'stops' : 'stop'}.`,
  ];
  if (!(await mayLeave(sentences.filter(Boolean).join(' '), { title: 'Sign out all the same?', action: 'Sign out' }))) return;
  if (session()?.isOwn) await remove(`user/tokens/${tokenId()}`).catch(() => {});
  endSession();
  forgetDrafts();
  location.hash = '';
  dispatchEvent(new Event('hashchange'));
}

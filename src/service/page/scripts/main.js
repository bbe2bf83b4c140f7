// The start of the page: signs in, then shows the view that the part of the address after `#` names.
import { onSignedOut } from './api.js';
import { fill, h } from './dom.js';
import { frame, markPlace } from './frame.js';
import { Life } from './live.js';
import { noticePlaces, problemBox } from './notices.js';
import { session } from './session.js';
import { signIn } from './sign_in.js';
import { account } from './account.js';
import { embeds } from './embeds.js';
import { model } from './model.js';
import { models } from './models.js';
import { presetEditor } from './preset_editor.js';
import { presets } from './presets.js';
import { queue } from './queue.js';
import { result } from './result.js';
import { results } from './results.js';

/**
 * Every view: the pattern of its address, the place in the navigation, its title, and what builds it. A view gets what its
 * pattern captured and the query of the address, and fills `place`.
 * @type {[RegExp, string, string, (view: {place: HTMLElement, life: Life, id: number, query: URLSearchParams}) => Promise<void>][]}
 */
const VIEWS = [
  [/^models$/, 'models', 'Models', models],
  [/^models\/(\d+)$/, 'models', 'Model', model],
  [/^results$/, 'results', 'Results', results],
  [/^results\/(\d+)$/, 'results', 'Result', result],
  [/^presets$/, 'presets', 'Presets', presets],
  [/^presets\/new$/, 'presets', 'New preset', presetEditor],
  [/^presets\/(\d+)$/, 'presets', 'Preset', presetEditor],
  [/^embeds$/, 'embeds', 'Embeds', embeds],
  [/^queue$/, 'queue', 'Queue', queue],
  [/^account$/, 'account', 'Account', account],
];

const root = h('div', { id: 'root' });
let life = new Life();
let shell = null;
let isFirst = true;

function address() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path || 'models', query: new URLSearchParams(search) };
}

async function show() {
  life.end();
  life = new Life();
  if (!session()) return showSignIn();
  if (!shell) {
    shell = frame();
    fill(root, shell.element);
  }
  const { path, query } = address();
  const found = VIEWS.map(([pattern, ...rest]) => [pattern.exec(path), ...rest]).find(([match]) => match);
  const [match, section, title, build] = found ?? [[], 'models', 'Not found', notFound];
  markPlace(section);
  document.title = `${title} – assetfs`;
  const place = h('div.view');
  const own = life;
  const isDialogOpen = document.querySelector('dialog[open]');
  isDialogOpen?.close();
  fill(shell.main, place);
  const waiting = setTimeout(() => place.childElementCount || fill(place, h('p.waiting', { role: 'status' }, 'Loading …')), 250);
  try {
    await build({ place, life: own, id: Number(match[1]), query });
  } catch (problem) {
    if (!own.signal.aborted && session()) fill(place, failed(problem));
  } finally {
    clearTimeout(waiting);
  }
  if (!own.signal.aborted) arrive(place);
}

/** Moves the focus to the heading of a new view, so that keyboard and screen reader start there. */
function arrive(place) {
  const heading = place.querySelector('h1');
  if (heading && heading.textContent) document.title = `${heading.textContent} – assetfs`;
  if (isFirst) {
    isFirst = false;
    return;
  }
  heading?.setAttribute('tabindex', '-1');
  heading?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function failed(problem) {
  const again = h('button', { type: 'button', onclick: show }, 'Try again');
  return [h('h1', {}, problem.status === 404 ? 'Not found' : 'This did not work'),
    problemBox(problem, h('div.row', {}, again, h('a.button', { href: '#/models' }, 'All models')))];
}

async function notFound({ place }) {
  fill(place, h('h1', {}, 'Not found'), h('p', {}, 'There is nothing at this address.'),
    h('p', {}, h('a.button', { href: '#/models' }, 'All models')));
}

function showSignIn() {
  shell = null;
  document.title = 'Sign in – assetfs';
  fill(root, signIn(show));
}

onSignedOut(() => show());
addEventListener('hashchange', show);
document.body.append(root, noticePlaces());
show();

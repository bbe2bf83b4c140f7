// The start of the page: signs in, then shows the view that the part of the address after `#` names. What a view needs is loaded
// when it is first shown.
import { Problem, onSignedOut } from './api.js';
import { fill, h } from './dom.js';
import { frame, markPlace } from './frame.js';
import { later, readAhead } from './later.js';
import { Life } from './live.js';
import { complain, forgetComplaints, noticePlaces, problemBox } from './notices.js';
import { holdsBack, mayLeave } from './leaving.js';
import { models } from './models.js';
import { onReach } from './reach.js';
import { onSessionElsewhere, session } from './session.js';
import { linkCode, signIn, signInByLink } from './sign_in.js';

/** How long after a view is shown the other scripts are loaded: by then it has its pictures. */
const READ_AHEAD_MS = 1_500;

/**
 * Every view: the pattern of its address, the place in the navigation, its title, and what builds it. A view gets what its
 * pattern captured and the query of the address, and fills `place`.
 * A view whose address gets another query is told by `life.onQuery`, if it has set that; else it is built anew.
 * @type {[RegExp, string, string, (view: {place: HTMLElement, life: Life, id: number, query: URLSearchParams}) => Promise<void>][]}
 */
const VIEWS = [
  [/^models$/, 'models', 'Models', models],
  [/^models\/(\d+)$/, 'models', 'Model', later(() => import('./model.js'), 'model')],
  [/^results$/, 'results', 'Results', later(() => import('./results.js'), 'results')],
  [/^results\/(\d+)$/, 'results', 'Result', later(() => import('./result.js'), 'result')],
  [/^presets$/, 'presets', 'Presets', later(() => import('./presets.js'), 'presets')],
  [/^presets\/new$/, 'presets', 'New preset', later(() => import('./preset_editor.js'), 'presetEditor')],
  [/^presets\/(\d+)$/, 'presets', 'Preset', later(() => import('./preset_editor.js'), 'presetEditor')],
  [/^embeds$/, 'embeds', 'Embeds', later(() => import('./embeds.js'), 'embeds')],
  [/^queue$/, 'queue', 'Queue', later(() => import('./queue.js'), 'queue')],
  [/^account$/, 'account', 'Account', later(() => import('./account.js'), 'account')],
];

const root = h('div', { id: 'root' });
let life = new Life();
let shell = null;
let isFirst = true;
/** The address that is shown, and what shows it again if it failed because the service did not answer. */
let shownAt = null;
let goOn = null;
/** Why the link that the page was opened with did not sign in. */
let linkProblem = null;

function address() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path || 'models', query: new URLSearchParams(search) };
}

/** Signs in with the code of the address, if it has one. The code is removed from the address and the history at once. */
async function useLink() {
  const code = linkCode(location.hash);
  if (!code) return false;
  history.replaceState(null, '', `${location.pathname}${location.search}#/models`);
  const problem = await signInByLink(code);
  if (problem && session()) complain(new Problem(`${problem.message} You are signed in already.`));
  else linkProblem = problem;
  await show();
  return true;
}

/** Follows the address, unless something unsaved would be left and that is not wanted. */
async function follow() {
  if (await useLink()) return;
  const { path, query } = address();
  if (shell && session() && path === shownAt?.path && life.onQuery) {
    shownAt = { path, hash: location.hash };
    life.onQuery(query);
    return;
  }
  if (shownAt && location.hash !== shownAt.hash && holdsBack()) {
    const wanted = location.hash;
    history.pushState(null, '', shownAt.hash || '#/');
    if (!(await mayLeave())) return;
    history.pushState(null, '', wanted);
  }
  forgetComplaints();
  show();
}

/** Asks before a link of the page is followed, so that the history has no step that was not wanted. */
async function askFirst(event) {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || !holdsBack() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (await mayLeave()) location.hash = link.getAttribute('href');
}

async function show() {
  life.end();
  goOn = null;
  life = new Life();
  if (!session()) return showSignIn();
  if (!shell) {
    shell = frame();
    fill(root, shell.element);
  }
  const { path, query } = address();
  shownAt = { path, hash: location.hash };
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
    if (own.signal.aborted || !session()) return;
    goOn = problem.isLost ? () => (problem.isStale ? location.reload() : show()) : null;
    fill(place, failed(problem));
  } finally {
    clearTimeout(waiting);
  }
  if (own.signal.aborted) return;
  arrive(place);
  setTimeout(readAhead, READ_AHEAD_MS);
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
  forgetComplaints();
  shell = null;
  shownAt = null;
  document.title = 'Sign in – assetfs';
  fill(root, signIn(show, linkProblem));
  linkProblem = null;
}

onSignedOut(() => show());
onSessionElsewhere(() => show());
onReach((isLost) => isLost || goOn?.());
addEventListener('hashchange', follow);
addEventListener('click', askFirst);
addEventListener('assetfs:again', show);
document.body.append(root, noticePlaces());
useLink().then((isDone) => isDone || show());

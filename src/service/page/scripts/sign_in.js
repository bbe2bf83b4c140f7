// The form that signs in: with a token of the service, or with the account's e-mail address and password.
import { Problem, check, post } from './api.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { problemBox } from './notices.js';
import { keepSession } from './session.js';

/** The one-time code of a link that `assetfs` printed, also one that was cut off; `null` if the part of the address after `#` has none. */
export const linkCode = (hash) => /^#sign-in=(.+)$/.exec(hash)?.[1] ?? null;

/** Exchanges the code of a link for a token. @returns {Promise<Error|null>} why that did not work */
export async function signInByLink(code) {
  try {
    const { token } = await post('../../page/session', { code });
    keepSession({ token, isOwn: true });
    return null;
  } catch (problem) {
    return problem;
  }
}

/** The form; calls `done` when the service has accepted what was typed. `problem`: why another way did not work. */
export function signIn(done, problem = null) {
  const failure = h('div', { role: 'alert' });
  const fields = h('div.fields');
  const submit = h('button.primary.large', { type: 'submit' }, 'Sign in');
  let way = 'token';
  const choose = (next) => {
    way = next;
    fill(fields, next === 'token' ? tokenFields() : passwordFields());
    fill(failure);
    fields.querySelector('input').focus();
  };
  const form = h('form.sign-in', { 'aria-labelledby': 'sign-in-title' },
    h('div.brand', {}, icon('cube', 34), h('span', {}, 'assetfs')),
    h('h1', { id: 'sign-in-title' }, 'Sign in'),
    h('fieldset.tabs', {}, h('legend.unseen', {}, 'Way to sign in'),
      tab('token', 'Token', true, choose), tab('password', 'Email and password', false, choose)),
    fields, failure, submit);
  fill(fields, tokenFields());
  if (problem) fill(failure, problemBox(problem));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (submit.getAttribute('aria-busy') === 'true') return;
    submit.setAttribute('aria-busy', 'true');
    fill(failure);
    try {
      await (way === 'token' ? byToken : byPassword)(new FormData(form));
      done();
    } catch (problem) {
      fill(failure, problemBox(problem));
    } finally {
      submit.removeAttribute('aria-busy');
    }
  });
  return h('main.sign-in-page', {}, form);
}

function tab(value, label, isChosen, choose) {
  const input = h('input', { type: 'radio', name: 'way', value, checked: isChosen, onchange: () => choose(value) });
  return h('label', {}, input, h('span', {}, label));
}

function tokenFields() {
  return [
    h('label.field', {}, h('span', {}, 'Token'),
      h('input', { name: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', placeholder: '1|…', autofocus: true })),
    h('p.hint', {}, 'On the machine of the service, ', h('code', {}, 'assetfs page'), ' prints a link that signs in without a token. The token is in the file ',
      h('code', {}, 'token'), ' of the service’s data folder; ', h('code', {}, 'assetfs token create'), ' makes more.'),
  ];
}

function passwordFields() {
  return [
    h('label.field', {}, h('span', {}, 'Email'),
      h('input', { name: 'email', type: 'email', autocomplete: 'username' })),
    h('label.field', {}, h('span', {}, 'Password'),
      h('input', { name: 'password', type: 'password', autocomplete: 'current-password' })),
    h('p.hint', {}, 'Those of a new service are in ', h('code', {}, 'account.json'),
      ' of its data folder. Signing in makes a token, and signing out deletes it.'),
  ];
}

async function byToken(form) {
  const token = form.get('token').trim();
  if (!/^\d+\|\S+$/.test(token)) {
    throw new Problem('A token is a number, a bar and a secret, such as 1|abc. Copy the whole line from the file.');
  }
  try {
    await check(token);
  } catch (problem) {
    if (problem.status !== 401) throw problem;
    throw new Problem('The service does not know this token. It may have been deleted, or belong to another service.');
  }
  keepSession({ token, isOwn: false });
}

async function byPassword(form) {
  const answer = await post('login', { email: form.get('email').trim(), password: form.get('password') });
  keepSession({ token: answer.token ?? answer, isOwn: true });
}

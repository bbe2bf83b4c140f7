// The account: points and storage, tokens, webhooks, its end.
import { get, post, remove } from './api.js';
import { badge, since } from './cards.js';
import { fill, h } from './dom.js';
import { bytes, number } from './format.js';
import { icon } from './icons.js';
import { ask, attempt, copy, say, tell } from './notices.js';
import { endSession, forgetDrafts, tokenId } from './session.js';

export async function account({ place, life }) {
  const usage = h('dl.usage-cards');
  const tokens = h('tbody');
  const hooks = h('ul.jobs', { 'aria-label': 'Webhooks' });
  const noHooks = h('p.hint', {}, 'None yet. A webhook is an address that hears of every import and optimization that ends.');
  const refresh = async () => {
    const [points, storage, tokenList, hookList] = await Promise.all([get('user/rapidpoints'), get('user/storage'), get('user/tokens'), get('user/webhooks')]);
    fill(usage, h('div', {}, h('dt', {}, 'Points left'), h('dd', {}, number(points.rapidpoints)), h('dd.hint', {}, 'An optimization costs one.')),
      h('div', {}, h('dt', {}, 'Storage left'), h('dd', {}, bytes(storage.storage_left)), h('dd.hint', {}, 'Uploads and results count.')));
    fill(tokens, tokenList.map((token) => tokenRow(token, refresh)));
    fill(hooks, hookList.map((hook) => hookRow(hook, refresh)));
    hooks.hidden = hookList.length === 0;
    noHooks.hidden = hookList.length > 0;
    return false;
  };
  const act = (action) => (event) => attempt(event.currentTarget, () => action(refresh));
  fill(place,
    h('header.view-head', {}, h('h1', {}, 'Account')),
    usage,
    h('section', { 'aria-labelledby': 'tokens-title' },
      h('header.view-head', {}, h('h2', { id: 'tokens-title' }, 'Tokens'), h('button', { type: 'button', onclick: act(createToken) }, icon('plus', 18), h('span', {}, 'New token'))),
      h('div.scroll', { tabindex: '0', role: 'group', 'aria-label': 'Table of the tokens' }, h('table.list', {}, h('thead', {}, h('tr', {}, COLUMNS.map((title) => h('th', { scope: 'col' }, title)), h('td', {}))), tokens))),
    h('section', { 'aria-labelledby': 'hooks-title' },
      h('header.view-head', {}, h('h2', { id: 'hooks-title' }, 'Webhooks'), h('button', { type: 'button', onclick: act(createHook) }, icon('plus', 18), h('span', {}, 'New webhook'))),
      noHooks, hooks),
    h('section', { 'aria-labelledby': 'end-title' }, h('h2', { id: 'end-title' }, 'Delete the account'),
      h('p.hint', {}, 'Removes all models, results, presets, embeds, tokens and files for good.'),
      h('button.danger', { type: 'button', onclick: act(deleteAccount) }, 'Delete the account')));
  await life.keep(refresh);
}

const COLUMNS = ['Name', 'Optimizations', 'Last used', 'Made'];


function tokenRow(token, refresh) {
  const isOurs = token.id === tokenId();
  const drop = async () => {
    const sure = await ask({ title: `Delete the token ${token.name}?`, danger: true, action: 'Delete the token',
      body: h('p', {}, isOurs ? 'This page uses it: you will be signed out.' : 'Programs that use it are refused from then on. If it is that of a mounted drive of this machine, mount the drive again; it makes a new one.'), submit: () => remove(`user/tokens/${token.id}`) });
    if (sure === null) return;
    if (isOurs) {
      endSession();
      dispatchEvent(new Event('hashchange'));
    } else {
      await refresh();
    }
  };
  return h('tr', {}, h('th', { scope: 'row' }, token.name, isOurs ? badge({ word: 'this page', kind: 'plain' }) : null),
    ...[number(token.optimization_count ?? 0), since(token.last_used_at), since(token.created_at)].map((value, at) => h('td', { 'data-title': COLUMNS[at + 1] }, value)),
    h('td', {}, h('button.small', { type: 'button', 'aria-label': `Delete the token ${token.name}`, onclick: (event) => attempt(event.currentTarget, drop) }, icon('trash', 16))));
}

async function createToken(refresh) {
  const token = await ask({ title: 'New token', action: 'Make the token',
    body: h('label.field', {}, h('span', {}, 'Name'), h('input', { name: 'name', required: true, maxlength: 255, placeholder: 'What it is for' })),
    submit: (form) => post('user/tokens/create', { name: new FormData(form).get('name').trim() }) });
  if (token === null) return;
  const field = h('input', { readonly: true, 'aria-label': 'Token' });
  field.value = token;
  tell({ title: 'The token is made', body: [
    h('p', {}, 'It is shown only now. Whoever has it can do everything in this account.'),
    h('div.row', {}, field, h('button', { type: 'button', onclick: () => copy(token, field) }, icon('copy', 18), h('span', {}, 'Copy')))] });
  await refresh();
}

function hookRow(hook, refresh) {
  const test = async () => {
    await post(`user/webhooks/test/${hook.id}`);
    say('A test event is on its way.');
    setTimeout(() => refresh().catch(() => {}), 1_500);
  };
  const drop = async () => {
    const sure = await ask({ title: 'Delete this webhook?', danger: true, action: 'Delete the webhook', body: h('p', {}, hook.url), submit: () => remove(`user/webhooks/${hook.id}`) });
    if (sure !== null) await refresh();
  };
  return h('li', {},
    h('div.row.apart.wrap', {}, h('strong.cut', {}, hook.url), hookState(hook)),
    h('p.hint', {}, hook.last_called_at ? ['Last called ', since(hook.last_called_at)] : 'Never called', hook.failed_calls ? `, ${number(hook.failed_calls)} failed` : '', hook.verify_ssl ? '' : ', accepts any certificate'),
    h('div.row', {},
      h('button.small', { type: 'button', 'aria-label': `Send a test to ${hook.url}`, onclick: (event) => attempt(event.currentTarget, test) }, 'Send a test'),
      h('button.small', { type: 'button', 'aria-label': `Delete ${hook.url}`, onclick: (event) => attempt(event.currentTarget, drop) }, icon('trash', 16))));
}

function hookState(hook) {
  if (hook.last_status === null || hook.last_status === undefined) return null;
  const isGood = hook.last_status >= 200 && hook.last_status < 300;
  return badge({ word: hook.last_status === 0 ? 'no answer' : `status ${hook.last_status}`, kind: isGood ? 'good' : 'bad' });
}

async function createHook(refresh) {
  const made = await ask({ title: 'New webhook', action: 'Register it',
    body: [
      h('label.field', {}, h('span', {}, 'Address'), h('input', { name: 'url', type: 'url', required: true, placeholder: 'https://' })),
      h('label.field', {}, h('span', {}, 'Secret'), h('input', { name: 'secret', type: 'password', autocomplete: 'off' }), h('span.hint', {}, 'Optional. Events are signed with it.')),
      h('label.check', {}, h('input', { type: 'checkbox', name: 'verify', checked: true }), h('span', {}, 'Check the certificate'))],
    submit: (form) => {
      const fields = new FormData(form);
      const secret = fields.get('secret');
      return post('user/webhooks', { url: fields.get('url'), verify_ssl: fields.has('verify'), ...(secret ? { secret } : {}) });
    } });
  if (made !== null) await refresh();
}

async function deleteAccount() {
  const done = await ask({ title: 'Delete the account?', danger: true, action: 'Delete everything',
    body: [h('p', {}, 'Everything in the account is removed for good. This cannot be undone.'),
      h('label.field', {}, h('span', {}, 'Password'), h('input', { name: 'password', type: 'password', required: true, autocomplete: 'current-password' }))],
    submit: (form) => post('user/delete', { password: new FormData(form).get('password') }) });
  if (done === null) return;
  endSession();
  forgetDrafts();
  dispatchEvent(new Event('hashchange'));
}

// Short messages at the edge of the window, and questions in a dialog.
import { fill, h, worded } from './dom.js';
import { icon } from './icons.js';
import { onReach } from './reach.js';

const SHOWN_MS = 6_000;

/** The places where screen readers hear of new messages: polite ones, and those that interrupt. */
const polite = h('div.notices', { role: 'status', 'aria-live': 'polite' });
const urgent = h('div.notices.urgent', { role: 'alert' });

const corner = h('div.notice-corner', {}, urgent, polite);

export const noticePlaces = () => corner;

function show(place, kind, symbol, text) {
  const close = () => notice.remove();
  const notice = h(`div.notice.${kind}`, {},
    icon(symbol, 18), h('p', {}, worded(text)),
    h('button.quiet.icon-only', { type: 'button', 'aria-label': 'Dismiss', onclick: close }, icon('close', 16)));
  // What is outside of an open dialog is behind it.
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
  if (dialog) {
    dialog.addEventListener('close', () => document.body.append(corner), { once: true });
    dialog.append(corner);
  }
  for (const before of place.children) if (before.textContent === notice.textContent) before.remove();
  place.append(notice);
  return close;
}

/** Says that something was done. */
export function say(text) {
  const close = show(polite, 'good', 'check', text);
  setTimeout(close, SHOWN_MS);
}

/** What a failure says, each thing once: the message of the API repeats the first of its fields. */
function sentencesOf(problem) {
  const message = problem?.message ?? String(problem);
  const fields = Object.values(problem?.errors ?? {}).flat();
  return fields.some((field) => message.startsWith(field)) ? fields : [message, ...fields];
}

/** Says that something failed; stays until it is dismissed, or until the service answers again if it did not. */
export function complain(problem) {
  if (problem?.status === 401) return;
  const close = show(urgent, 'bad', 'warning', sentencesOf(problem).join(' '));
  if (!problem?.isLost) return;
  const isOver = new AbortController();
  onReach((isLost) => {
    if (isLost) return;
    close();
    isOver.abort();
  }, isOver.signal);
}

/** What was said of a view that is left says nothing any more. */
export const forgetComplaints = () => fill(urgent);

/** Runs what a button does: the button waits meanwhile, and a failure is shown. */
export async function attempt(button, action) {
  if (button.getAttribute('aria-busy') === 'true') return undefined;
  button.setAttribute('aria-busy', 'true');
  try {
    return await action();
  } catch (problem) {
    complain(problem);
    return undefined;
  } finally {
    button.removeAttribute('aria-busy');
  }
}

let dialogs = 0;
/** A dialog may ask above another one. */
const nextTitleId = () => `dialog-title-${dialogs += 1}`;

/**
 * Opens a dialog with a form; resolves with what `submit` returned, or `null` if it was cancelled.
 * @param {{title: string, body: any, action: string, danger?: boolean, wide?: boolean, submit?: (form: HTMLFormElement) => any,
 *   mayClose?: () => Promise<boolean>}} wish `mayClose` is asked before it is cancelled
 */
export function ask({ title, body, action, danger = false, wide = false, submit = () => true, mayClose = null }) {
  return new Promise((resolve) => {
    const titleId = nextTitleId();
    let answer = null;
    const failure = h('div', { role: 'alert' });
    const confirm = h(danger ? 'button.danger' : 'button.primary', { type: 'submit' }, action);
    const form = h('form', { method: 'dialog', novalidate: '' },
      h('h2', { id: titleId }, title),
      h('div.dialog-body', {}, body), failure,
      h('div.dialog-actions', {},
        h('button', { type: 'button', onclick: () => cancel() }, 'Cancel'), confirm));
    const dialog = h(wide ? 'dialog.wide' : 'dialog', { 'aria-labelledby': titleId }, form);
    const cancel = async () => {
      if (!mayClose || await mayClose()) dialog.close();
    };
    dialog.addEventListener('cancel', (event) => {
      if (!mayClose || event.target !== dialog) return;
      event.preventDefault();
      cancel();
    });
    // A message is about what was entered before. On `input` and not on `change`: that comes with the click on a button, which would move
    // away under the pointer.
    form.addEventListener('input', () => fill(failure));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (!form.reportValidity() || confirm.getAttribute('aria-busy') === 'true') return;
      confirm.setAttribute('aria-busy', 'true');
      try {
        answer = await submit(form);
        dialog.close();
      } catch (problem) {
        fill(failure, problemBox(problem));
        failure.scrollIntoView({ block: 'nearest' });
        markFields(form, problem);
      } finally {
        confirm.removeAttribute('aria-busy');
      }
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    (dialog.querySelector('[autofocus]') ?? dialog.querySelector('input, select, textarea'))?.focus();
  });
}

/** Marks the fields that a refusal names, until they are changed, and goes to the first of them. */
function markFields(form, problem) {
  const named = Object.keys(problem.errors ?? {}).map((field) => form.elements[field]).filter((field) => field instanceof HTMLElement);
  for (const field of named) {
    field.setAttribute('aria-invalid', 'true');
    field.addEventListener('input', () => field.removeAttribute('aria-invalid'), { once: true });
  }
  named[0]?.focus();
}

/** Tells something in a dialog that only closes. */
export function tell({ title, body, wide = false }) {
  const titleId = nextTitleId();
  const dialog = h(wide ? 'dialog.wide' : 'dialog', { 'aria-labelledby': titleId },
    h('h2', { id: titleId }, title), h('div.dialog-body', {}, body),
    h('div.dialog-actions', {}, h('button.primary', { type: 'button', onclick: () => dialog.close() }, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** A failure as a box in the text: what happened, field by field, and what to do next. */
export function problemBox(problem, next) {
  const [first, ...fields] = sentencesOf(problem);
  return h('div.problem', {}, icon('warning', 20),
    h('div', {}, h('p', {}, worded(first)),
      fields.length ? h('ul', {}, fields.map((field) => h('li', {}, worded(field)))) : null, next));
}

/** Puts a text into the clipboard; where the browser refuses (no HTTPS), it is selected for copying by hand. */
export async function copy(text, field) {
  try {
    await navigator.clipboard.writeText(text);
    say('Copied.');
  } catch {
    field?.select?.();
    say('Press Ctrl+C to copy the selected text.');
  }
}

// Builds elements. Texts become text nodes and nothing is ever parsed as HTML, so no name, tag or message of a user
// can become markup.

const SVG = 'http://www.w3.org/2000/svg';

/** Properties that are attributes without a value. */
const FLAGS = new Set(['disabled', 'hidden', 'checked', 'required', 'readonly', 'multiple', 'open', 'autofocus']);

/**
 * Makes an element.
 * @param {string} name such as `button` or `button.primary.small`
 * @param {Record<string, any>} [properties] attributes; `on…` are listeners, `style` an object of CSS properties
 * @param {...(Node|string|number|null|undefined|false|Array<any>)} children
 * @returns {HTMLElement}
 */
export function h(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) setProperty(element, key, value);
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function setProperty(element, key, value) {
  if (value === null || value === undefined) return;
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
  else if (key === 'class') element.className = `${element.className} ${value}`.trim();
  else if (key === 'style') for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
  else if (key === 'value') element.value = value;
  else if (key === 'href' || key === 'src') setAddress(element, key, value);
  else if (FLAGS.has(key)) element.toggleAttribute(key, Boolean(value));
  else element.setAttribute(key, String(value));
}

/** Sets a link or a source, if it leads to the web, to this page or to a file made here. */
function setAddress(element, key, value) {
  const url = new URL(value, document.baseURI);
  if (['http:', 'https:', 'blob:'].includes(url.protocol)) element.setAttribute(key, value);
}

/** A message as children of an element: what stands between backticks is code. */
export const worded = (message) => String(message).split('`').map((part, index) => (index % 2 ? h('code', {}, part) : part));

/** Replaces all children. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

/** Fields whose text somebody has changed. */
const typed = new WeakSet();
document.addEventListener('input', ({ target }) => typed.add(target));

/** Replaces all children. The focus, what was typed into a field and what was opened stay, by the labels. */
export function refill(parent, ...children) {
  const labelOf = (element) => element.getAttribute('aria-label');
  const labelled = (label) => parent.querySelector(`[aria-label="${CSS.escape(label)}"]`);
  const focused = parent.contains(document.activeElement) ? labelOf(document.activeElement) : null;
  const texts = [...parent.querySelectorAll('input[aria-label], textarea[aria-label]')].filter((field) => typed.has(field))
    .map((field) => [labelOf(field), field.value]);
  const titleOf = (details) => details.querySelector('summary')?.textContent;
  const opened = [...parent.querySelectorAll('details[open]')].map(titleOf);
  fill(parent, ...children);
  for (const [label, text] of texts) {
    const field = labelled(label);
    if (!field) continue;
    field.value = text;
    typed.add(field);
  }
  for (const details of parent.querySelectorAll('details')) details.open ||= opened.includes(titleOf(details));
  const again = focused && labelled(focused);
  if (!again) return parent;
  // What is in a list that is closed cannot have the focus.
  const list = again.closest('details');
  if (list) list.open = true;
  again.focus();
  return parent;
}

/** A drawing of 24 × 24 units made of strokes; decoration only, so hidden from screen readers. */
export function drawing(paths, size = 20) {
  const svg = document.createElementNS(SVG, 'svg');
  const attributes = { viewBox: '0 0 24 24', width: size, height: size, fill: 'none', stroke: 'currentColor',
    'stroke-width': 1.75, 'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true', focusable: 'false' };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  for (const d of paths) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}

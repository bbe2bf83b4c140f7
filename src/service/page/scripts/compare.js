// Two models beside each other, the source and a result or two results: in 3D, as pictures under a slider or side by side, as a heat
// map of the differences, or the result on its turntable. The engine drew all pictures with one camera.
import { fill, h } from './dom.js';
import { complain } from './notices.js';
import { stable } from './pictures.js';
import { caption, labelled, otherSide } from './sides.js';
import { tabs } from './tabs.js';
import { viewer3d } from './viewer3d.js';
import { VIEWS, viewChooser } from './views.js';

const MODES = [['3d', '3D'], ['slider', 'Slider'], ['beside', 'Side by side'], ['heat', 'Heat map'], ['turntable', 'Turntable']];

/** Pixels of dragging that turn the turntable by one picture. */
const DRAG_PIXELS = 16;

/**
 * @param {{rapid: any, source: import('./sides.js').Side, sideOf: (format: string) => import('./sides.js').Side, heatOf: (format: string, view: string) => string|null,
 *   formats: string[], others: any[], partner: number|null, onPartner: (id: number|null) => void,
 *   onSides: (left: import('./sides.js').Side, right: import('./sides.js').Side) => void, signal: AbortSignal}} given `others`: results of the same source;
 *   `partner`: the one that is compared at first; `onSides` hears what is compared, at once and at every change
 * @returns {{element: HTMLElement, learn: (others: any[]) => void}} `learn` takes the results that there are now
 */
export function comparison({ rapid, source, sideOf, heatOf, formats, others, partner, onPartner, onSides, signal }) {
  const stage = h('div.compare-stage');
  const views = h('div');
  const bar = h('div.row.wrap.apart');
  let named = labelled(rapid, others);
  let left = source;
  /** The result in place of the source, with its label. */
  let other = null;
  let right = sideOf(formats[0]);
  let format = formats[0];
  let view = null;
  let mode = null;
  let opened = new AbortController();
  signal.addEventListener('abort', () => opened.abort());
  const seen = (one) => (mode === 'heat' ? heatOf(format, one) : right.picture(one));
  const models = () => [left, right].filter(({ source3d }) => source3d);
  const possible = () => ({ '3d': models().length > 0, slider: Boolean(left.picture('front') && right.picture('front')), beside: Boolean(right.picture('front')),
    // The engine compared the result with its source alone.
    heat: !other && Boolean(heatOf(format, 'front')),
    // The 3D view of a result turns, and is sharp.
    turntable: !right.source3d && Object.keys(rapid.thumbnail?.turntable ?? {}).length > 1 });
  const show = () => {
    opened.abort();
    opened = new AbortController();
    const can = possible();
    if (!can[mode]) mode = MODES.map(([one]) => one).find((one) => can[one]) ?? null;
    if (!view || !seen(view)) view = VIEWS.find(seen) ?? 'front';
    const build = { '3d': three, slider, beside, heat, turntable: turntableOf }[mode] ?? (() => h('p.hint', {}, 'There are no pictures of this result.'));
    stage.className = mode === '3d' ? '' : 'compare-stage';
    fill(stage, build());
    fill(views, mode === '3d' || mode === 'turntable' || !mode ? null : viewChooser(seen, view, (next) => {
      view = next;
      show();
      views.querySelector(`input[value="${next}"]`)?.focus();
    }, 'result-view'));
    showBar();
  };
  const showBar = () => {
    const can = possible();
    const ways = MODES.filter(([one]) => can[one]);
    fill(bar, ways.length > 1 && tabs('Way to compare', ways, mode, again((next) => { mode = next; })),
      formats.length > 1 && tabs('Format', formats.map((one) => [one, one.toUpperCase()]), format, again((next) => compareWith(other, next))), named.length > 0 && partners());
  };
  /** Shows again after a choice; the focus stays on what was chosen. */
  const again = (change) => async (value) => {
    await change(value);
    if (signal.aborted) return;
    show();
    bar.querySelector(`input[value="${value}"]`)?.focus();
  };
  let choices = 0;
  /** Compares with a result, or with the source, in a format; what cannot be read stays as it was. */
  const compareWith = async (next, of = format) => {
    choices += 1;
    const own = choices;
    const side = next ? await otherSide(...next, of).catch(complain) : source;
    // The last choice counts, whichever answer comes first.
    if (own !== choices || !side) return;
    [other, left, format, right] = [next, side, of, sideOf(of)];
    if (!signal.aborted) onSides(left, right);
  };
  const fillPartners = (select) => {
    fill(select, h('option', { value: 'source' }, 'Source'), named.map(([{ id }, label]) => h('option', { value: String(id) }, label)));
    select.value = left.key;
  };
  const partners = () => {
    const select = h('select', { 'aria-label': 'Compare with', onchange: async () => {
      await compareWith(named.find(([{ id }]) => String(id) === select.value) ?? null);
      if (signal.aborted) return;
      onPartner(other?.[0].id ?? null);
      show();
      bar.querySelector('select')?.focus();
    } });
    fillPartners(select);
    return h('label.row.compare-with', {}, h('span.hint', {}, 'Compare with'), select);
  };
  const pair = () => ({ left: { url: left.picture(view), name: left === source ? 'Before' : left.label }, right: { url: right.picture(view), name: left === source ? 'After' : right.label } });
  const three = () => viewer3d({ sources: models().map(({ source3d, label }) => ({ ...source3d, label })), posters: models().map((side) => side.picture('overview') ?? side.poster),
    captions: models().map(caption), signal: opened.signal });
  const slider = () => over(pair(), view);
  const beside = () => h('div.beside', {}, [['left', left], ['right', right]].filter(([, side]) => side.picture(view)).map(([place, side]) => h('figure', {},
    h('img', { src: stable(side.picture(view)), alt: `${pair()[place].name}, ${view} view` }), h('figcaption', {}, caption(side)))));
  const heat = () => h('div.beside', {},
    h('figure', {}, h('img', { src: stable(right.picture(view)), alt: `Result, ${view} view` }), h('figcaption', {}, caption(right))),
    h('figure', {}, h('img.heat', { src: stable(heatOf(format, view)), alt: `Differences, ${view} view` }),
      h('figcaption', {}, 'Difference from the source', h('span.scale', { 'aria-hidden': 'true' }), h('span.hint', {}, 'equal to different'))));
  const turntableOf = () => turntable(rapid);
  const learn = (now) => {
    const ids = () => JSON.stringify(named.map(([{ id }]) => id));
    const before = ids();
    named = labelled(rapid, now);
    if (other && !named.some(([{ id }]) => id === other[0].id)) named.push(other);
    if (ids() === before) return;
    const select = bar.querySelector('select');
    if (!select || named.length === 0) showBar();
    // It keeps the focus.
    else fillPartners(select);
  };
  onSides(left, right);
  show();
  const first = named.find(([{ id }]) => id === partner);
  if (first) compareWith(first).then(() => signal.aborted || show());
  return { element: h('section.compare', { 'aria-label': 'Before and after' }, bar, stage, views), learn };
}

/** Both pictures in one place; the slider says how much of the left one is seen. */
function over({ left, right }, view) {
  const box = h('div.over');
  const input = h('input', { type: 'range', min: 0, max: 100, step: 1, value: 50, 'aria-label': `${left.name} and ${right.name}, ${view} view` });
  const move = () => {
    box.style.setProperty('--cut', `${input.value}%`);
    input.setAttribute('aria-valuetext', `${input.value}% ${left.name}, ${100 - input.value}% ${right.name}`);
  };
  input.addEventListener('input', move);
  fill(box, h('img.after', { src: stable(right.url), alt: `${right.name}, ${view} view`, draggable: 'false' }),
    h('img.before', { src: stable(left.url), alt: `${left.name}, ${view} view`, draggable: 'false' }),
    h('span.label.left', {}, left.name), h('span.label.right', {}, right.name), h('span.handle', { 'aria-hidden': 'true' }), input);
  move();
  return box;
}

/** The result from all around; turned by dragging, or by the slider with the keyboard. */
function turntable(rapid) {
  const frames = Object.entries(rapid.thumbnail.turntable).sort(([one], [two]) => one.localeCompare(two)).map(([, url]) => stable(url));
  for (const url of frames) new Image().src = url;
  const image = h('img', { src: frames[0], alt: `${rapid.name} on a turntable`, draggable: 'false' });
  const input = h('input', { type: 'range', min: 0, max: frames.length - 1, step: 1, value: 0, 'aria-label': 'Turn' });
  const turn = (to) => {
    const at = ((to % frames.length) + frames.length) % frames.length;
    input.value = at;
    image.src = frames[at];
    input.setAttribute('aria-valuetext', `${Math.round((at * 360) / frames.length)} degrees`);
  };
  input.addEventListener('input', () => turn(Number(input.value)));
  const box = h('div.turn', {}, image);
  box.addEventListener('pointerdown', (event) => {
    const from = { x: event.clientX, at: Number(input.value) };
    box.setPointerCapture(event.pointerId);
    const drag = (moved) => turn(from.at + Math.round((moved.clientX - from.x) / DRAG_PIXELS));
    box.addEventListener('pointermove', drag);
    box.addEventListener('lostpointercapture', () => box.removeEventListener('pointermove', drag), { once: true });
  });
  return h('div.turntable', {}, box, input);
}

// Source and result in pictures: laid over each other with a slider, side by side, as a heat map of the differences, or
// the result on its turntable. The engine drew them all with one camera.
import { fill, h } from './dom.js';
import { picture } from './cards.js';
import { stable } from './pictures.js';
import { VIEWS, viewChooser } from './views.js';

const MODES = [['slider', 'Slider'], ['beside', 'Side by side'], ['heat', 'Heat map'], ['turntable', 'Turntable']];

/** Pixels of dragging that turn the turntable by one picture. */
const DRAG_PIXELS = 16;

/**
 * @param {{rapid: any, renders: Record<string, string>|null, formats: string[], onFormat: (format: string) => void}} given
 */
export function comparison({ rapid, renders, formats, onFormat }) {
  const stage = h('div.compare-stage');
  if (!renders) {
    fill(stage, picture(rapid.thumbnail?.first, rapid.name));
    return h('section.compare', { 'aria-label': 'Pictures' }, stage, h('p.hint', {}, 'There are no views of this result to compare.'));
  }
  const state = { mode: 'slider', view: VIEWS.find((view) => renders[`original-${view}.png`]) ?? 'front', format: formats[0] };
  const views = h('div');
  const address = (kind, view = state.view) => {
    const names = { before: `original-${view}.png`, after: `${state.format}-${view}.png`, heat: `${state.format}-${view}__diff.png` };
    return renders[names[kind]] ?? null;
  };
  const show = () => {
    const build = { slider, beside, heat, turntable }[state.mode];
    fill(stage, build({ address, view: state.view, rapid }));
    views.hidden = state.mode === 'turntable';
  };
  const showViews = () => fill(views, viewChooser((view) => address(state.mode === 'heat' ? 'heat' : 'after', view), state.view, (view) => {
    state.view = view;
    show();
  }, 'result-view'));
  const chooseMode = (mode) => {
    state.mode = mode;
    show();
    showViews();
  };
  const hasTurntable = Object.keys(rapid.thumbnail?.turntable ?? {}).length > 1;
  const modes = MODES.filter(([mode]) => mode !== 'turntable' || hasTurntable);
  const bar = h('div.row.wrap.apart', {},
    choice('Way to compare', 'mode', modes, state.mode, chooseMode),
    formats.length > 1 && choice('Format', 'format', formats.map((format) => [format, format.toUpperCase()]), state.format, (format) => {
      state.format = format;
      show();
      showViews();
      onFormat(format);
    }));
  show();
  showViews();
  return h('section.compare', { 'aria-label': 'Before and after' }, bar, stage, views);
}

function choice(legend, name, options, chosen, choose) {
  return h('fieldset.tabs', {}, h('legend.unseen', {}, legend), options.map(([value, label]) => h('label', {},
    h('input', { type: 'radio', name: `compare-${name}`, value, checked: value === chosen, onchange: () => choose(value) }), h('span', {}, label))));
}

/** Both pictures in one place; the slider says how much of the source is seen. */
function slider({ address, view }) {
  const box = h('div.over');
  const input = h('input', { type: 'range', min: 0, max: 100, step: 1, value: 50, 'aria-label': `Source and result, ${view} view`, 'aria-valuetext': 'Half source, half result' });
  const move = () => {
    box.style.setProperty('--cut', `${input.value}%`);
    input.setAttribute('aria-valuetext', `${input.value}% source, ${100 - input.value}% result`);
  };
  input.addEventListener('input', move);
  fill(box, h('img.after', { src: stable(address('after')), alt: `Result, ${view} view`, draggable: 'false' }),
    h('img.before', { src: stable(address('before')), alt: `Source, ${view} view`, draggable: 'false' }),
    h('span.label.left', {}, 'Before'), h('span.label.right', {}, 'After'), h('span.handle', { 'aria-hidden': 'true' }), input);
  move();
  return box;
}

function beside({ address, view }) {
  const one = (kind, label) => h('figure', {}, h('img', { src: stable(address(kind)), alt: `${label}, ${view} view` }), h('figcaption', {}, label));
  return h('div.beside', {}, one('before', 'Before'), one('after', 'After'));
}

function heat({ address, view }) {
  return h('div.beside', {},
    h('figure', {}, h('img', { src: stable(address('after')), alt: `Result, ${view} view` }), h('figcaption', {}, 'After')),
    h('figure', {}, h('img.heat', { src: stable(address('heat')), alt: `Differences, ${view} view` }),
      h('figcaption', {}, 'Difference', h('span.scale', { 'aria-hidden': 'true' }), h('span.hint', {}, 'equal to different'))));
}

/** The result from all around; turned by dragging, or by the slider with the keyboard. */
function turntable({ rapid }) {
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

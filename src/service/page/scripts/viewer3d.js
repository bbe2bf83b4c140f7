// The 3D view: one model, or two that turn together, in the viewer that embeds use. The viewer is in a frame without an origin
// (frame3d.js) and is loaded when the view is seen; until then the picture of the model is there.
import { fill, h } from './dom.js';
import { bytes } from './format.js';
import { icon } from './icons.js';
import { attempt } from './notices.js';
import { stable } from './pictures.js';
import { tabs } from './tabs.js';

const LOOKS = [['textured', 'Textured'], ['wireframe', 'Wireframe'], ['uv', 'UV'], ['normals', 'Normals'], ['color', 'Base colour']];

/** The sides of the pictures that the engine draws: the angle around the model and the one from above, in degrees. */
const SIDES = [['Front', 0, 90], ['Right', 90, 90], ['Back', 180, 90], ['Left', -90, 90], ['Top', 0, 0], ['Bottom', 0, 180]];

/** Larger models are loaded only when that is asked for. */
const AT_ONCE_BYTES = 40e6;

/** How long the viewer itself may take to load. */
const START_MS = 30_000;

/** Whether the browser has what the viewer draws with. */
function drawsIn3d() {
  const context = document.createElement('canvas').getContext('webgl2');
  context?.getExtension('WEBGL_lose_context')?.loseContext();
  return Boolean(context);
}

/**
 * @param {{sources: import('./source3d.js').Source3D[], posters: (string|null)[], captions?: any[], signal: AbortSignal}} given
 *   `captions`: what stands under each model
 */
export function viewer3d({ sources, posters, captions = [], signal }) {
  const cover = h('div.cover', {}, posters.map((url) => (url ? h('img', { src: stable(url), alt: '' }) : h('div'))));
  const note = h('div.cover-note', { role: 'status' });
  const stage = h('div.stage-3d', { class: sources.length > 1 ? 'two' : '' }, cover, note);
  const own = new AbortController();
  signal.addEventListener('abort', () => own.abort());
  let frame = null;
  const order = (message, transfer = []) => frame?.contentWindow.postMessage(message, '*', transfer);
  const play = h('button.small', { type: 'button', hidden: true, onclick: () => setPlaying(play.dataset.on !== 'true') }, 'Play');
  const setPlaying = (isOn) => {
    play.dataset.on = String(isOn);
    play.textContent = isOn ? 'Pause' : 'Play';
    order({ order: 'play', on: isOn });
  };
  const looks = tabs('Look', LOOKS, 'textured', (look) => order({ order: 'look', look }));
  looks.disabled = true;
  const tools = h('div.row.wrap.apart', {}, looks,
    h('div.row', {}, play,
      h('button.small', { type: 'button', disabled: true, onclick: () => order({ order: 'fit' }) }, 'Fit'),
      document.fullscreenEnabled && h('button.small', { type: 'button', 'aria-label': 'Full screen', onclick: (event) => attempt(event.currentTarget, toggleFullScreen) }, icon('full', 16))));
  const sides = h('div.row.wrap.turn-to', { role: 'group', 'aria-label': 'Seen from' }, SIDES.map(([label, around, above]) => h('button.small', { type: 'button', disabled: true,
    onclick: () => order({ order: 'fit', orbit: `${around}deg ${above}deg 105%` }) }, label)));
  const box = h('div.viewer-3d', {}, stage, tools, sides,
    captions.some(Boolean) && h('div.captions', { class: captions.length > 1 ? 'two' : '' }, captions.map((caption) => h('div', {}, caption))));
  const toggleFullScreen = () => (document.fullscreenElement ? document.exitFullscreen() : box.requestFullscreen());

  const fail = (text) => {
    cover.hidden = false;
    frame?.remove();
    frame = null;
    fill(note, h('p', {}, text), h('button.small', { type: 'button', onclick: start }, 'Try again'));
  };
  /** What the frame says. */
  const hear = {
    shown: ({ canPlay, isPlaying }) => {
      waiting -= 1;
      if (canPlay) {
        play.hidden = false;
        play.dataset.on = String(isPlaying);
        play.textContent = isPlaying ? 'Pause' : 'Play';
      }
      if (waiting > 0) return;
      cover.hidden = true;
      fill(note);
      for (const control of [looks, ...box.querySelectorAll('button[disabled]')]) control.disabled = false;
    },
    failed: ({ at }) => fail(`${sources[at].label} cannot be shown in 3D: this viewer cannot read it. Its pictures and files are there.`),
  };
  let waiting = 0;
  async function start() {
    if (!drawsIn3d()) {
      fill(note, h('p', {}, 'This browser shows nothing in 3D: WebGL is off or missing. The pictures and files are there without it.'));
      return;
    }
    waiting = sources.length;
    fill(note, h('p', {}, 'Loading …'));
    try {
      const [started, models] = await Promise.all([open(), Promise.all(sources.map((source) => source.load(own.signal)))]);
      if (own.signal.aborted || started !== frame) return;
      const wanted = models.map((model, at) => ({ label: sources[at].label, ...model }));
      order({ order: 'show', models: wanted }, models.flatMap(({ main, uris }) => [main, ...Object.values(uris ?? {})]));
    } catch (problem) {
      if (!own.signal.aborted) fail(problem.message);
    }
  }
  /** Makes the frame; resolves when its viewer is there. */
  const open = () => new Promise((resolve, reject) => {
    frame?.remove();
    const made = h('iframe', { sandbox: 'allow-scripts', title: `3D view of ${sources.map(({ label }) => label).join(' and ')}`, src: 'page/frame.html' });
    const late = setTimeout(() => reject(new Error('The 3D view did not start. Try again; the pictures are there without it.')), START_MS);
    addEventListener('message', ({ source, data }) => {
      if (source !== made.contentWindow || source === null) return;
      if (data?.said === 'ready') {
        clearTimeout(late);
        resolve(made);
      } else if (Object.hasOwn(hear, data?.said)) {
        hear[data.said](data);
      }
    }, { signal: own.signal });
    frame = made;
    stage.prepend(made);
  });

  const total = sources.reduce((sum, { size }) => sum + size, 0);
  if (total > AT_ONCE_BYTES) {
    fill(note, h('button', { type: 'button', onclick: start }, icon('cube', 18), `Show in 3D (${bytes(total)})`));
  } else {
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      start();
    });
    seen.observe(stage);
    own.signal.addEventListener('abort', () => seen.disconnect());
  }
  return box;
}

// What the page adds to model-viewer: measures, coordinates, a button for animations, a word when
// the model cannot be shown. Its settings are data attributes; nothing in them is ever run.
const model = document.getElementById('model');
const settings = model.dataset;
const note = document.getElementById('note');

// How many of each unit make a metre.
const PER_METRE = { m: 1, cm: 100, mm: 1000, yd: 1 / 0.9144, ft: 1 / 0.3048, in: 1 / 0.0254 };

let unit = settings.displayUnit;
let point = null;

function length(inModelUnits) {
  const metres = inModelUnits / PER_METRE[settings.baseUnit];
  return (metres * PER_METRE[unit]).toLocaleString(undefined, { maximumFractionDigits: 2 });
}

function show() {
  const lines = [];
  if (settings.measure === 'true' && model.loaded) {
    const size = model.getDimensions();
    lines.push(`${length(size.x)} × ${length(size.y)} × ${length(size.z)} ${unit}`);
  }
  if (point) {
    lines.push(`x ${length(point.x)}  y ${length(point.y)}  z ${length(point.z)} ${unit}`);
  }
  note.textContent = lines.join('\n');
}

function offerUnits() {
  const select = document.getElementById('units');
  const units = settings.displayUnits.split(',').filter((name) => name in PER_METRE);
  if (settings.measure !== 'true' || units.length < 2) return;
  for (const name of units) select.add(new Option(name, name, false, name === unit));
  select.hidden = false;
  select.addEventListener('change', () => {
    unit = select.value;
    show();
  });
}

const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;

function offerAnimation() {
  const button = document.getElementById('animation');
  if (model.availableAnimations.length === 0) return;
  model.timeScale = Number(settings.animationSpeed);
  if (settings.animation !== 'true' || model.timeScale === 0) return;
  button.hidden = false;
  const say = () => {
    button.textContent = model.paused ? 'Play' : 'Pause';
  };
  button.addEventListener('click', () => {
    if (model.paused) model.play();
    else model.pause();
    say();
  });
  if (model.autoplay && !isCalm) model.play();
  else model.pause();
  say();
}

function offerFullScreen() {
  const button = document.getElementById('fullscreen');
  if (!document.fullscreenEnabled) return;
  button.hidden = false;
  button.addEventListener('click', () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen();
  });
  document.addEventListener('fullscreenchange', () => {
    button.textContent = document.fullscreenElement ? 'Leave full screen' : 'Full screen';
  });
}

model.addEventListener('load', () => {
  show();
  offerAnimation();
});
model.addEventListener('error', () => {
  note.textContent = 'The model cannot be shown.';
});
if (settings.coordinates === 'true') {
  model.addEventListener('click', (event) => {
    const hit = model.positionAndNormalFromPoint(event.clientX, event.clientY);
    point = hit && hit.position;
    show();
  });
}
offerUnits();
offerFullScreen();

// Inside the frame of the 3D view: models that turn together, and ways to look at them. The frame has no origin and no
// network; the page sends it the bytes of the models and says how to show them (viewer3d.js).

/** What each look writes over the colour that three.js has computed, in the shader of every material. */
const LOOKS = {
  wireframe: 'gl_FragColor = vec4(0.09, 0.13, 0.24, 0.4);',
  uv: `vec2 cell = floor(lookUv * 16.0);
    float dark = mod(cell.x + cell.y, 2.0);
    gl_FragColor = vec4(mix(vec3(fract(lookUv), 0.6), vec3(0.98), 0.25 + 0.5 * dark), 1.0);`,
  normals: `#ifdef STANDARD
    vec3 shown = normalize(normal);
    #else
    vec3 shown = normalize(cross(dFdx(lookAt), dFdy(lookAt)));
    #endif
    gl_FragColor = vec4(shown * 0.5 + 0.5, 1.0);`,
  color: `vec3 plain = diffuseColor.rgb;
    gl_FragColor = vec4(mix(plain * 12.92, 1.055 * pow(max(plain, vec3(0.0)), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, plain)), diffuseColor.a);`,
};

/** How a model is seen first. */
const HOME = '35deg 72deg 105%';

const place = document.getElementById('views');
const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
/** @type {{viewer: any, radius: number}[]} */
let shown = [];
let look = 'textured';

const tell = (message) => parent.postMessage(message, '*');

/** The scene of three.js, which model-viewer keeps behind a symbol. */
const sceneOf = (viewer) => viewer[Object.getOwnPropertySymbols(viewer).find(({ description }) => description === 'scene')];

/** @param {{label: string, main: ArrayBuffer, uris: Record<string, ArrayBuffer>|null}} model */
function address({ main, uris }) {
  const blob = (bytes, type) => URL.createObjectURL(new Blob([bytes], { type }));
  if (!uris) return blob(main, 'model/gltf-binary');
  const document = JSON.parse(new TextDecoder().decode(main));
  for (const one of [...(document.buffers ?? []), ...(document.images ?? [])]) {
    if (Object.hasOwn(uris, one.uri)) one.uri = blob(uris[one.uri], '');
  }
  return blob(JSON.stringify(document), 'model/gltf+json');
}

function show(models) {
  place.replaceChildren();
  shown = models.map((model, at) => {
    const viewer = document.createElement('model-viewer');
    const attributes = { alt: model.label, 'camera-controls': '', 'touch-action': 'pan-y', 'interaction-prompt': 'none',
      'shadow-intensity': '0.6', loading: 'eager', 'camera-orbit': HOME,
      // From straight above and below, too.
      'min-camera-orbit': 'auto 0deg auto', 'max-camera-orbit': 'auto 180deg auto' };
    for (const [name, value] of Object.entries(attributes)) viewer.setAttribute(name, value);
    // Without it, model-viewer has an unseen sign in the middle that takes the pointer.
    const sign = document.createElement('span');
    sign.slot = 'pan-target';
    viewer.append(sign);
    const one = { viewer, radius: 0 };
    viewer.addEventListener('load', () => {
      one.radius = viewer.getCameraOrbit().radius;
      paint(viewer);
      const canPlay = viewer.availableAnimations.length > 0;
      if (canPlay && !isCalm) viewer.play();
      // The last one to load starts the animations of all together.
      if (shown.every(({ radius }) => radius)) for (const each of shown) each.viewer.currentTime = 0;
      const drawn = () => tell({ said: 'shown', at, canPlay, isPlaying: canPlay && !isCalm });
      requestAnimationFrame(() => requestAnimationFrame(drawn));
    });
    viewer.addEventListener('error', () => tell({ said: 'failed', at }));
    viewer.addEventListener('camera-change', ({ detail }) => detail.source === 'user-interaction' && follow(one));
    place.append(viewer);
    try {
      viewer.src = address(model);
    } catch {
      tell({ said: 'failed', at });
    }
    return one;
  });
}

/** Turns the other models as `leader` was turned. Distances are in parts of what shows the whole model, because a result may have another scale. */
function follow(leader) {
  const orbit = leader.viewer.getCameraOrbit();
  const target = leader.viewer.getCameraTarget();
  const middle = leader.viewer.getBoundingBoxCenter();
  for (const other of shown) {
    if (other === leader || !other.radius || !leader.radius) continue;
    const scale = other.radius / leader.radius;
    const own = other.viewer.getBoundingBoxCenter();
    const along = (axis) => `${own[axis] + (target[axis] - middle[axis]) * scale}m`;
    other.viewer.cameraOrbit = `${orbit.theta}rad ${orbit.phi}rad ${orbit.radius * scale}m`;
    other.viewer.cameraTarget = ['x', 'y', 'z'].map(along).join(' ');
    other.viewer.fieldOfView = `${leader.viewer.getFieldOfView()}deg`;
    other.viewer.jumpCameraToGoal();
  }
}

/** Shows all of each model, seen from `orbit`. */
function fit(orbit) {
  for (const { viewer } of shown) {
    viewer.cameraTarget = 'auto auto auto';
    viewer.fieldOfView = 'auto';
    viewer.cameraOrbit = orbit;
    viewer.resetTurntableRotation?.();
    if (isCalm) viewer.jumpCameraToGoal();
  }
}

/** Gives the materials of a model the chosen look. */
function paint(viewer) {
  const scene = sceneOf(viewer);
  for (const model of scene.models) model.traverse(({ material }) => [material ?? []].flat().forEach(dress));
  scene.queueRender();
}

function dress(material) {
  // Thin lines where there are many triangles: each covers a part of what is behind it.
  material.userData.wasTransparent ??= material.transparent;
  material.transparent = look === 'wireframe' || material.userData.wasTransparent;
  material.wireframe = look === 'wireframe';
  material.needsUpdate = true;
  if (!LOOKS[look]) {
    delete material.onBeforeCompile;
    delete material.customProgramCacheKey;
    return;
  }
  material.customProgramCacheKey = () => `look ${look}`;
  material.onBeforeCompile = (shader) => {
    const varyings = 'varying vec2 lookUv; varying vec3 lookAt;\n';
    shader.vertexShader = varyings + shader.vertexShader.replace('#include <project_vertex>',
      '#include <project_vertex>\nlookUv = uv; lookAt = mvPosition.xyz;');
    shader.fragmentShader = varyings + shader.fragmentShader.replace('#include <dithering_fragment>',
      `#include <dithering_fragment>\n${LOOKS[look]}`);
  };
}

const ORDERS = {
  show: ({ models }) => show(models),
  look: (order) => {
    look = order.look;
    for (const { viewer } of shown) if (viewer.loaded) paint(viewer);
  },
  fit: ({ orbit = HOME }) => fit(orbit),
  play: ({ on }) => shown.forEach(({ viewer }) => (on ? viewer.play() : viewer.pause())),
};

addEventListener('message', ({ source, data }) => {
  if (source === parent && Object.hasOwn(ORDERS, data?.order)) ORDERS[data.order](data);
});
// Each model adapts to a new size of the window in its own way; afterwards they look the same way again.
addEventListener('resize', () => setTimeout(() => shown.length > 1 && follow(shown[0]), 100));
customElements.whenDefined('model-viewer').then(() => tell({ said: 'ready' }));

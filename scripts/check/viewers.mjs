// Opens files in viewers of other projects, in headless Chromium, and takes a picture in each.
//   node viewers.mjs TOOLS OUTPUTS PICTURES THREE_VERSION...
// Prints a row for each file and viewer; ends with 1 if one was not read. Used by scripts/check/viewers.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, outputs, pictures, ...versions] = process.argv.slice(2);
const { chromium } = createRequire(path.join(path.resolve(tools), 'here.js'))('playwright-core');

const types = {
  '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json',
  '.wasm': 'application/wasm', '.png': 'image/png', '.jpg': 'image/jpeg', '.webp': 'image/webp', '.avif': 'image/avif',
};

const threePage = version => `<!doctype html><script type="importmap">{"imports": {
  "three": "/modules/three-${version}/build/three.module.js",
  "three/addons/": "/modules/three-${version}/examples/jsm/"}}</script>
<canvas id="view" width="512" height="512"></canvas><script type="module">
import * as THREE from 'three';
window.show = async (file, kind) => {
  const libs = '/modules/three-${version}/examples/jsm/libs/';
  const renderer = new THREE.WebGLRenderer({ canvas: document.querySelector('#view'), preserveDrawingBuffer: true, antialias: true });
  const url = '/outputs/' + encodeURIComponent(file);
  let object;
  if (kind === 'glb' || kind === 'gltf') {
    const { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js');
    const { DRACOLoader } = await import('three/addons/loaders/DRACOLoader.js');
    const { KTX2Loader } = await import('three/addons/loaders/KTX2Loader.js');
    const { MeshoptDecoder } = await import('three/addons/libs/meshopt_decoder.module.js');
    const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder)
      .setDRACOLoader(new DRACOLoader().setDecoderPath(libs + 'draco/gltf/'))
      .setKTX2Loader(new KTX2Loader().setTranscoderPath(libs + 'basis/').detectSupport(renderer));
    object = (await loader.loadAsync(url)).scene;
  } else if (kind === 'obj') {
    const { OBJLoader } = await import('three/addons/loaders/OBJLoader.js');
    const { MTLLoader } = await import('three/addons/loaders/MTLLoader.js');
    const loader = new OBJLoader();
    const library = /^mtllib (.+)$/m.exec(await (await fetch(url)).text());
    if (library) {
      const materials = await new MTLLoader().setPath('/outputs/').loadAsync(library[1]);
      materials.preload();
      loader.setMaterials(materials);
    }
    object = await loader.loadAsync(url);
  } else if (kind === 'usdz') {
    const { USDZLoader } = await import('three/addons/loaders/USDZLoader.js');
    object = await new USDZLoader().loadAsync(url);
  } else if (kind === 'fbx') {
    const { FBXLoader } = await import('three/addons/loaders/FBXLoader.js');
    object = await new FBXLoader().loadAsync(url);
  } else {
    const name = kind === 'stl' ? 'STLLoader' : 'PLYLoader';
    const loaders = await import('three/addons/loaders/' + name + '.js');
    const geometry = await new loaders[name]().loadAsync(url);
    geometry.computeVertexNormals();
    object = new THREE.Mesh(geometry, new THREE.MeshStandardMaterial({ vertexColors: !!geometry.attributes.color }));
  }
  const scene = new THREE.Scene();
  scene.background = new THREE.Color(0xff00ff);
  scene.add(object, new THREE.HemisphereLight(0xffffff, 0x888888, 3), new THREE.DirectionalLight(0xffffff, 2));
  object.updateMatrixWorld(true);
  let triangles = 0;
  object.traverse(part => {
    if (!part.isMesh) return;
    const count = (part.geometry.index || part.geometry.attributes.position).count / 3;
    triangles += count * (part.isInstancedMesh ? part.count : 1);
  });
  const box = new THREE.Box3().setFromObject(object);
  const [size, center] = [box.getSize(new THREE.Vector3()).length(), box.getCenter(new THREE.Vector3())];
  const camera = new THREE.PerspectiveCamera(35, 1, size / 1000, size * 100);
  camera.position.copy(center).add(new THREE.Vector3(.8, .5, 1).normalize().multiplyScalar(size * 1.7));
  camera.lookAt(center);
  for (let frame = 0; frame < 5; frame += 1) {
    renderer.render(scene, camera);
    await new Promise(done => setTimeout(done, 60));
  }
  return { triangles, picture: renderer.domElement.toDataURL() };
};
window.ready = true;
</script>`;

const draco = `/modules/three-${versions.at(-1)}/examples/jsm/libs/draco/gltf/`;

const babylonPage = `<!doctype html><script src="/modules/babylonjs/babylon.js"></script>
<script src="/modules/babylonjs-loaders/babylonjs.loaders.min.js"></script>
<canvas id="view" width="512" height="512"></canvas><script>
BABYLON.MeshoptCompression.Configuration.decoder.url = '/modules/meshoptimizer/meshopt_decoder.js';
BABYLON.DracoCompression.Configuration.decoder = {
  wasmUrl: '${draco}draco_wasm_wrapper.js', wasmBinaryUrl: '${draco}draco_decoder.wasm', fallbackUrl: '${draco}draco_decoder.js' };
window.show = async (file, kind) => {
  const engine = new BABYLON.Engine(document.querySelector('#view'), true, { preserveDrawingBuffer: true });
  const scene = new BABYLON.Scene(engine);
  scene.clearColor = new BABYLON.Color4(1, 0, 1, 1);
  await BABYLON.SceneLoader.AppendAsync('/outputs/', file, scene, null, '.' + kind);
  new BABYLON.HemisphericLight('light', new BABYLON.Vector3(.3, 1, .4), scene).intensity = 3;
  const triangles = scene.meshes.reduce((sum, mesh) => sum + mesh.getTotalIndices() / 3, 0);
  const { min, max } = scene.getWorldExtends(mesh => mesh.getTotalVertices() > 0);
  const [size, center] = [max.subtract(min).length(), min.add(max).scale(.5)];
  const camera = new BABYLON.ArcRotateCamera('camera', .9, 1.1, size * 1.6, center, scene);
  camera.minZ = size / 1000;
  camera.maxZ = size * 100;
  await scene.whenReadyAsync();
  for (let frame = 0; frame < 5; frame += 1) {
    scene.render();
    await new Promise(done => setTimeout(done, 60));
  }
  return { triangles, picture: engine.getRenderingCanvas().toDataURL() };
};
window.ready = true;
</script>`;

// Said before it loads: else it begins with decoders from the network.
const modelViewerPage = `<!doctype html><script>self.ModelViewerElement = {
  dracoDecoderLocation: '${draco}',
  ktx2TranscoderLocation: '/modules/${`three-${versions.at(-1)}`}/examples/jsm/libs/basis/',
  meshoptDecoderLocation: '/modules/meshoptimizer/meshopt_decoder.js' };</script>
<script type="module" src="/modules/@google/model-viewer/dist/model-viewer.min.js"></script>
<style>model-viewer { width: 512px; height: 512px; background: #f0f }</style><script>
window.show = async (file) => {
  await customElements.whenDefined('model-viewer');
  const viewer = document.createElement('model-viewer');
  viewer.src = '/outputs/' + encodeURIComponent(file);
  document.body.append(viewer);
  await new Promise((done, fail) => {
    viewer.addEventListener('load', done);
    viewer.addEventListener('error', event => fail(new Error(String(event.detail?.sourceError?.message ?? event.detail?.type))));
  });
  await new Promise(done => setTimeout(done, 500));
  return { picture: null };
};
window.ready = true;
</script>`;

// Before 0.184 the loader for usdz draws the first mesh below each transform, for those above a mesh as well, and only PNG.
const readsUsdz = version => version.localeCompare('0.184', 'en', { numeric: true }) >= 0;
const viewers = [
  ...versions.map(version => ({ name: `three.js ${version}`, page: threePage(version), reads: kind => kind !== 'usdz' || readsUsdz(version) })),
  // Babylon.js downloads its KTX2 decoder from the network, so it does not get KTX2.
  { name: 'Babylon.js', page: babylonPage, reads: (kind, file) => ['glb', 'gltf', 'obj', 'stl'].includes(kind) && !/ktx2/.test(file) },
  { name: 'model-viewer', page: modelViewerPage, reads: kind => kind === 'glb' },
];

/** The model files; a viewer loads the files that a model refers to by itself. */
const files = fs.readdirSync(outputs).filter(name => /\.(glb|gltf|obj|usdz|stl|ply|fbx)$/.test(name)).sort();

const server = http.createServer((request, response) => {
  const url = decodeURIComponent(new URL(request.url, 'http://x').pathname);
  const page = /^\/page\/(\d+)$/.exec(url);
  if (page) return response.setHeader('content-type', 'text/html').end(viewers[page[1]].page);
  const [, top, ...rest] = url.split('/');
  const root = { modules: path.join(tools, 'node_modules'), outputs }[top];
  const file = root && path.join(root, ...rest);
  if (!file || rest.includes('..') || !fs.existsSync(file) || !fs.statSync(file).isFile()) {
    return response.writeHead(404).end();
  }
  response.setHeader('content-type', types[path.extname(file)] ?? 'application/octet-stream');
  return fs.createReadStream(file).pipe(response);
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const base = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});

/** The share of pixels of a PNG that are not the colour behind the model. */
async function shownShare(page, png) {
  return page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let shown = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (Math.abs(data[at] - 255) + data[at + 1] + Math.abs(data[at + 2] - 255) > 60) shown += 1;
    }
    return shown / (data.length / 4);
  }, `data:image/png;base64,${png.toString('base64')}`);
}

async function open(viewer, number, file) {
  const kind = path.extname(file).slice(1);
  const page = await browser.newPage({ viewport: { width: 560, height: 560 } });
  const errors = [];
  page.on('pageerror', error => errors.push(error.message));
  page.on('console', message => {
    if (message.type() === 'error' && !/favicon/.test(message.location().url)) errors.push(message.text());
  });
  try {
    await page.goto(`${base}/page/${number}`);
    await page.waitForFunction(() => window.ready, null, { timeout: 60_000 });
    const shown = await Promise.race([
      page.evaluate(([name, extension]) => window.show(name, extension), [file, kind]),
      new Promise((_, fail) => setTimeout(() => fail(new Error('it is not open after 120 seconds')), 120_000).unref()),
    ]);
    const png = shown.picture
      ? Buffer.from(shown.picture.split(',')[1], 'base64')
      : await page.locator('model-viewer').screenshot();
    fs.writeFileSync(path.join(pictures, `${file}.${viewer.name.replaceAll(' ', '-')}.png`), png);
    const share = await shownShare(page, png);
    if (share < 0.01) errors.push('its picture is empty');
    return { triangles: shown.triangles && Math.round(shown.triangles), share, errors };
  } catch (error) {
    return { errors: [...errors, error.message.split('\n')[0]] };
  } finally {
    await page.close();
  }
}

let isBad = false;
for (const file of files) {
  let most;
  for (const [number, viewer] of viewers.entries()) {
    if (!viewer.reads(path.extname(file).slice(1), file)) continue;
    const { triangles, share, errors } = await open(viewer, number, file);
    most ??= triangles;
    if (triangles && most && triangles !== most) errors.push(`${triangles} triangles, another viewer finds ${most}`);
    const said = errors.length
      ? `NOT READ: ${errors[0]}`
      : `read, ${triangles ?? '?'} triangles, ${Math.round(share * 100)} % of the picture`;
    isBad ||= errors.length > 0;
    console.log(`${file.padEnd(24)} ${viewer.name.padEnd(22)} ${said}`);
  }
}
await browser.close();
server.close();
process.exit(isBad ? 1 : 0);

// Fills a running service with models that are made here, and takes the pictures of the page for the documentation.
//   node page_pictures.mjs TOOLS BASE TOKEN_FILE OUT CHAIR_FOLDER
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, base, tokenFile, out, chair] = process.argv.slice(2);
const token = fs.readFileSync(tokenFile, 'utf8').trim();
const { chromium } = createRequire(path.join(path.resolve(tools), 'here.js'))('playwright-core');

/** A glb of one mesh: `at(u, v)` gives the point for both parameters from 0 to 1. */
function surface(at, across, along, color, metal, rough) {
  const positions = new Float32Array((across + 1) * (along + 1) * 3);
  const normals = new Float32Array(positions.length);
  const indices = new Uint32Array(across * along * 6);
  const minus = (a, b) => a.map((value, axis) => value - b[axis]);
  for (let i = 0, n = 0; i <= across; i += 1) {
    for (let j = 0; j <= along; j += 1, n += 3) {
      const [u, v, step] = [i / across, j / along, 1e-4];
      const point = at(u, v);
      const [a, b] = [minus(at(u + step, v), point), minus(at(u, v + step), point)];
      const normal = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
      const length = Math.hypot(...normal) || 1;
      positions.set(point, n);
      normals.set(normal.map((value) => value / length), n);
    }
  }
  for (let i = 0, n = 0; i < across; i += 1) {
    for (let j = 0; j < along; j += 1, n += 6) {
      const corner = i * (along + 1) + j;
      indices.set([corner, corner + along + 1, corner + 1, corner + 1, corner + along + 1, corner + along + 2], n);
    }
  }
  const bin = Buffer.concat([positions, normals, indices].map((array) => Buffer.from(array.buffer)));
  const box = [Math.min, Math.max].map((pick) => [0, 1, 2].map((axis) => positions.filter((_, at) => at % 3 === axis).reduce((a, b) => pick(a, b))));
  const view = (byteOffset, array) => ({ buffer: 0, byteOffset, byteLength: array.byteLength });
  const vector = (bufferView) => ({ bufferView, componentType: 5126, count: positions.length / 3, type: 'VEC3' });
  const json = {
    asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0, NORMAL: 1 }, indices: 2, material: 0 }] }],
    materials: [{ doubleSided: true, pbrMetallicRoughness: { baseColorFactor: [...color, 1], metallicFactor: metal, roughnessFactor: rough } }],
    buffers: [{ byteLength: bin.length }],
    bufferViews: [view(0, positions), view(positions.byteLength, normals), view(positions.byteLength * 2, indices)],
    accessors: [{ ...vector(0), min: box[0], max: box[1] }, vector(1), { bufferView: 2, componentType: 5125, count: indices.length, type: 'SCALAR' }],
  };
  const text = Buffer.from(JSON.stringify(json));
  const padded = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, 32)]);
  const chunk = (bytes, kind) => Buffer.concat([Buffer.from(new Uint32Array([bytes.length]).buffer), Buffer.from(kind), bytes]);
  const body = Buffer.concat([chunk(padded, 'JSON'), chunk(bin, 'BIN\0')]);
  return Buffer.concat([Buffer.from('glTF'), Buffer.from(new Uint32Array([2, body.length + 12]).buffer), body]);
}

const TURN = 2 * Math.PI;
/** A profile of [radius, height] points, smoothed, around the y axis. */
function lathe(points) {
  const of = (values, t) => {
    const x = Math.min(Math.max(t, 0), 1) * (values.length - 1);
    const i = Math.min(Math.floor(x), values.length - 2);
    const [a, b, c, d] = [values[Math.max(i - 1, 0)], values[i], values[i + 1], values[Math.min(i + 2, values.length - 1)]];
    const f = x - i;
    return 0.5 * (2 * b + (c - a) * f + (2 * a - 5 * b + 4 * c - d) * f * f + (3 * b - a - 3 * c + d) * f ** 3);
  };
  const [radii, heights] = [points.map(([r]) => r), points.map(([, y]) => y)];
  return (u, v) => [Math.cos(u * TURN) * of(radii, v), of(heights, v), -Math.sin(u * TURN) * of(radii, v)];
}

function knot(u, v) {
  const path = (t) => [(2 + Math.cos(3 * t)) * Math.cos(2 * t), Math.sin(3 * t) * 1.1, (2 + Math.cos(3 * t)) * Math.sin(2 * t)];
  const t = u * TURN;
  const [here, next] = [path(t), path(t + 1e-3)];
  const way = next.map((value, axis) => value - here[axis]);
  const side = [way[2], 0, -way[0]];
  const long = Math.hypot(...side) || 1;
  const across = side.map((value) => value / long);
  const up = [way[1] * across[2] - way[2] * across[1], way[2] * across[0] - way[0] * across[2], way[0] * across[1] - way[1] * across[0]];
  const high = Math.hypot(...up) || 1;
  const [c, s] = [Math.cos(v * TURN) * 0.42, Math.sin(v * TURN) * 0.42];
  return here.map((value, axis) => (value + across[axis] * c + (up[axis] / high) * s) / 5);
}

const SHAPES = {
  'Stoneware vase': surface(lathe([[0.01, 0], [0.16, 0.01], [0.24, 0.12], [0.26, 0.28], [0.17, 0.44], [0.09, 0.54], [0.1, 0.62], [0.14, 0.66], [0.12, 0.65], [0.08, 0.55]]), 220, 160, [0.24, 0.42, 0.5], 0, 0.35),
  'Chess pawn': surface(lathe([[0.01, 0], [0.2, 0], [0.21, 0.05], [0.16, 0.1], [0.17, 0.13], [0.09, 0.2], [0.065, 0.36], [0.13, 0.4], [0.13, 0.42], [0.06, 0.45], [0.13, 0.53], [0.13, 0.6], [0.07, 0.67], [0.005, 0.68]]), 200, 180, [0.13, 0.1, 0.09], 0, 0.3),
  'Brass knot': surface(knot, 640, 48, [0.89, 0.63, 0.25], 1, 0.28),
  'Copper bowl': surface(lathe([[0.01, 0], [0.12, 0], [0.13, 0.03], [0.24, 0.08], [0.34, 0.2], [0.37, 0.3], [0.36, 0.305], [0.32, 0.2], [0.22, 0.1], [0.01, 0.06]]), 220, 150, [0.86, 0.45, 0.32], 1, 0.34),
  'Glazed bottle': surface(lathe([[0.01, 0], [0.15, 0], [0.17, 0.03], [0.17, 0.3], [0.15, 0.4], [0.06, 0.5], [0.05, 0.62], [0.06, 0.66], [0.06, 0.68], [0.04, 0.68], [0.035, 0.6]]), 200, 160, [0.2, 0.36, 0.22], 0, 0.2),
};

async function call(method, address, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${base}/api/v2/${address}`, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

async function upload(name, files, tags) {
  const { id, links } = await call('POST', 'rawmodel/api-upload/start', { model_name: name, filenames: Object.keys(files) });
  for (const [file, bytes] of Object.entries(files)) await fetch(links.s3_upload_urls[file], { method: 'PUT', body: bytes });
  await call('GET', `rawmodel/${id}/api-upload/complete`);
  await call('PUT', `rawmodel/${id}`, { tags });
  return id;
}

async function until(address, done) {
  for (;;) {
    const { data } = await call('GET', address);
    if (done(data)) return;
    await new Promise((resume) => setTimeout(resume, 500));
  }
}

for (const [name, glb] of Object.entries(SHAPES)) await upload(name, { 'model.glb': glb }, name.includes(' knot') ? ['study'] : ['props']);
const files = Object.fromEntries(fs.readdirSync(chair).map((name) => [name, fs.readFileSync(path.join(chair, name))]));
const oak = await upload('Oak chair', files, ['furniture', 'oak']);
await until(`rawmodel/${oak}`, (asset) => asset.upload_status === 'complete');
const optimized = async (wish) => {
  const { id } = await call('POST', `rawmodel/optimize/${oak}`, wish);
  await until(`rapidmodel/${id}`, (rapid) => rapid.optimization_status === 'done');
  return id;
};
const id = await optimized({ preset_id: 2 });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking'] });
const LOOKS = { light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }, dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }, 390: { viewport: { width: 390, height: 780 }, colorScheme: 'light', isMobile: true, hasTouch: true } };
const drawn = async (page) => {
  await page.locator('.stage-3d iframe').waitFor();
  await page.locator('.cover').waitFor({ state: 'hidden' });
  await page.waitForTimeout(1500);
};
const look = (label) => async (page) => {
  await drawn(page);
  await page.getByLabel(label, { exact: true }).check();
  await page.waitForTimeout(1500);
};
const select = async (page) => {
  await page.getByLabel('Select Brass knot').check();
  await page.getByLabel('Select Oak chair').click({ modifiers: ['Shift'] });
  await page.mouse.move(0, 0);
};
const preview = async (page) => {
  await page.getByLabel('At most').fill('2000');
  await page.getByRole('button', { name: 'Try on a model' }).click();
  await page.getByLabel('Search models').fill('pawn');
  await page.locator('dialog label', { hasText: 'Chess pawn' }).click();
  await page.getByRole('button', { name: 'Try for 1 point' }).click();
  await page.locator('.preview-result').waitFor();
  await page.locator('.preview-part').scrollIntoViewIfNeeded();
  await page.evaluate(() => document.activeElement.blur());
};
const SHOTS = [
  ['gallery', '#/models', async () => {}],
  ['selected', '#/models', select],
  ['model', `#/models/${oak}`, drawn],
  ['wireframe', `#/results/${id}`, look('Wireframe')],
  ['compare', `#/results/${id}`, (page) => page.getByLabel('Slider').check()],
  ['heat-map', `#/results/${id}`, (page) => page.getByLabel('Heat map').check()],
  ['preset-editor', '#/presets/new?from=3', (page) => page.evaluate(() => document.activeElement.blur())],
  ['preset-preview', '#/presets/new?from=3', preview],
];
for (const [look, options] of Object.entries(LOOKS)) {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(180_000);
  await page.goto(base);
  await page.evaluate((value) => localStorage.setItem('assetfs.session', JSON.stringify({ token: value, isOwn: false })), token);
  for (const [name, hash, prepare] of SHOTS) {
    await page.goto(`${base}/${hash}`);
    await page.reload();
    await page.locator('h1').waitFor();
    await page.waitForLoadState('networkidle');
    await prepare(page);
    await page.waitForTimeout(600);
    await page.screenshot({ path: path.join(out, `page-${name}-${look}.png`) });
  }
}
await browser.close();

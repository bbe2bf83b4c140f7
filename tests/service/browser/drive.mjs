// Uses the page of a running service in headless Chromium, as an artist would: signs in, uploads, optimizes, compares,
// edits a preset, makes an embed and opens it. Fails on an error of the console, on a request to another host, and on a
// finding of axe-core above "minor".
//
//   node drive.mjs TOOLS BASE TOKEN_FILE MODELS [SCREENSHOTS]
//
// TOOLS is the folder whose node_modules have playwright-core and axe-core; MODELS has the folder `chair` and `square.glb`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, base, tokenFile, modelDir, screenshots] = process.argv.slice(2);
const token = fs.readFileSync(tokenFile, 'utf8').trim();
const require = createRequire(path.join(path.resolve(tools), 'here.js'));
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const FLAGS = ['--no-sandbox', '--disable-gpu', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
const WIDE = { width: 1280, height: 860 };
const NARROW = { width: 390, height: 844 };
const HOSTILE = '<img src=x onerror=alert(1)>';

const executablePath = process.env.PATH.split(':').map((dir) => path.join(dir, 'chromium')).find((file) => fs.existsSync(file));
const browser = await chromium.launch({ executablePath, args: FLAGS });
const context = await browser.newContext({ viewport: WIDE, colorScheme: 'light', reducedMotion: 'reduce' });
context.setDefaultTimeout(120_000);

/** What the console complained about, and what went to other hosts. */
const complaints = [];
const strangers = [];
/** Statuses that the running step provokes; the browser writes each into the console. */
let provoked = [];
context.on('console', (message) => {
  if (message.type() !== 'error') return;
  const isProvoked = provoked.some((status) => message.text().includes(`status of ${status} `));
  if (!isProvoked) complaints.push(`${message.text()} (${message.location().url})`);
});
context.on('weberror', (error) => complaints.push(String(error.error().stack)));
context.on('dialog', (dialog) => complaints.push(`a dialog of the browser: ${dialog.message()}`));
context.on('request', (request) => {
  const url = new URL(request.url());
  if (!['data:', 'blob:'].includes(url.protocol) && url.hostname !== '127.0.0.1') strangers.push(request.url());
});
const page = await context.newPage();

/** Runs a step; says which one failed, with a picture of it. */
async function step(name, action) {
  const started = Date.now();
  try {
    await action();
    assert.deepEqual(complaints, [], 'the console is clean');
    assert.deepEqual(strangers, [], 'nothing goes to another host');
  } catch (error) {
    if (screenshots) await page.screenshot({ path: path.join(screenshots, 'failed.png') }).catch(() => {});
    console.error(`FAILED: ${name}`);
    throw error;
  }
  provoked = [];
  console.log(`${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}

/** Judges what is shown, in light and dark; at 390 pixels nothing may be wider than the window. */
async function judge(name, on = page) {
  for (const colorScheme of ['light', 'dark']) {
    await on.emulateMedia({ colorScheme });
    await judgeOnce(`${name}, ${colorScheme}`, on);
    if (screenshots) await on.screenshot({ path: path.join(screenshots, `${name}-${colorScheme}.png`) });
  }
  await on.emulateMedia({ colorScheme: 'light' });
  await on.setViewportSize(NARROW);
  const excess = await on.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(excess <= 0, `${name} is ${excess} pixels too wide at 390`);
  await judgeOnce(`${name}, 390 px`, on);
  if (screenshots) await on.screenshot({ path: path.join(screenshots, `${name}-390.png`) });
  await on.setViewportSize(WIDE);
}

async function judgeOnce(name, on) {
  const isThere = await on.evaluate(() => 'axe' in window);
  if (!isThere) await on.evaluate(axe);
  const { violations, passes } = await on.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  assert.ok(passes.length > 5, 'axe-core has judged something');
  const found = violations.filter(({ impact }) => impact !== 'minor');
  const words = found.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`);
  assert.deepEqual(words, [], name);
}

const heading = (text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const place = (name) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click();

await step('a wrong token is refused with a sentence', async () => {
  provoked = [401];
  await page.goto(`${base}/`);
  await heading('Sign in');
  await page.getByLabel('Token', { exact: true }).last().fill('1|wrong');
  await page.keyboard.press('Enter');
  await page.getByText('The service does not know this token').waitFor();
  await judge('sign-in');
});

await step('the token signs in, and an empty gallery says what to do', async () => {
  await page.locator('input[name=token]').fill(token);
  await page.keyboard.press('Enter');
  await heading('Models');
  await page.getByText('No models yet').waitFor();
  await judge('empty');
  assert.ok(await page.evaluate(() => sessionStorage.getItem('assetfs.session')), 'the token is in sessionStorage');
  assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);
});

await step('the keyboard reaches the content, and focus is visible', async () => {
  await page.reload();
  await heading('Models');
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.textContent);
  assert.equal(first, 'Skip to content');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid');
});

await step('dropped files are sorted into models by what their formats need', async () => {
  const cases = [
    [['a.glb', 'b.stl'], ['a: a.glb', 'b: b.stl']],
    [['a.obj', 'a.mtl', 'wood.png'], ['a: a.obj a.mtl wood.png']],
    [['a.gltf', 'a.bin', 'set.zip'], ['set: set.zip', 'a: a.gltf a.bin']],
    [['chair/a.gltf', 'chair/maps/a.png', 'chair/.DS_Store', 'lamp/b.fbx'], ['chair: a.gltf maps/a.png', 'lamp: b.fbx']],
    [['notes.txt'], ['notes: notes.txt']],
  ];
  for (const [paths, expected] of cases) {
    const planned = await page.evaluate(async (names) => {
      const { plan } = await import(new URL('page/scripts/upload_plan.js', location.href).href);
      const { formats } = await (await fetch('page/facts.json')).json();
      const dropped = names.map((name) => ({ path: name, file: new File([], name) }));
      return (await plan(dropped, formats)).map(({ name, files }) => `${name}: ${files.map((one) => one.path).join(' ')}`);
    }, paths);
    assert.deepEqual(planned, expected);
  }
});

await step('dropped files are grouped by what each model refers to, and the groups can be changed', async () => {
  const texts = {
    'a.gltf': '{"buffers":[{"uri":"A.bin"}],"images":[{"uri":"tex%5Cwood.png"}]}',
    'a.bin': 'x', 'b.obj': 'mtllib b.mtl', 'b.mtl': 'map_Kd -s 1 1 1 wood.png', 'wood.png': 'x', 'c.glb': '', 'licence.txt': 'x',
  };
  const planned = await page.evaluate(async (texts) => {
    const { moved, plan } = await import(new URL('page/scripts/upload_plan.js', location.href).href);
    const { formats } = await (await fetch('page/facts.json')).json();
    const dropped = (above) => Object.entries(texts).map(([name, text]) => ({ path: above + name, file: new File([text], name) }));
    const shown = (plans) => plans.map(({ name, files, isLeftOver }) => `${isLeftOver ? '-' : name}: ${files.map((one) => one.path).join(' ')}`);
    const loose = await plan(dropped(''), formats);
    const left = loose.at(-1);
    const changed = moved(loose, left.files[0], left, loose[0], formats);
    return { loose: shown(loose), folder: shown(await plan(dropped('set/'), formats)), changed: shown(changed) };
  }, texts);
  const groups = ['a: a.gltf a.bin wood.png', 'b: b.obj b.mtl wood.png', 'c: c.glb'];
  assert.deepEqual(planned.loose, [...groups, '-: licence.txt']);
  assert.deepEqual(planned.folder, planned.loose);
  assert.deepEqual(planned.changed, [`${groups[0]} licence.txt`, ...groups.slice(1)]);
});

await step('a folder of files is uploaded as one model', async () => {
  const chair = path.join(modelDir, 'chair');
  const files = fs.readdirSync(chair).map((name) => path.join(chair, name));
  await page.locator('input[type=file]').first().setInputFiles(files);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Oak chair');
  assert.match(await dialog.textContent(), new RegExp(`${files.length} files.*model chair\\.gltf`));
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('region', { name: 'Uploads' }).getByText(/^Uploaded,/).waitFor();
  await page.getByRole('link', { name: /Oak chair/ }).waitFor();
});

await step('a file is dropped; its name is text, whatever it says', async () => {
  const bytes = fs.readFileSync(path.join(modelDir, 'square.glb')).toString('base64');
  const transfer = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], 'square.glb'));
    return transfer;
  }, bytes);
  await page.dispatchEvent('main', 'dragenter', { dataTransfer: transfer });
  await page.getByText('Drop models, folders or zips').waitFor();
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(HOSTILE);
  await judge('upload');
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('heading', { level: 2, name: HOSTILE }).waitFor();
  await page.locator('.card img').nth(1).waitFor();
  assert.equal(await page.locator('.card img[src="x"]').count(), 0);
  await page.getByRole('button', { name: 'Clear finished uploads' }).click();
  await judge('gallery');
});

await step('a model is optimized with a preset of the factory', async () => {
  await page.getByRole('link', { name: /Oak chair/ }).click();
  await heading('Oak chair');
  await page.getByText('Triangles', { exact: true }).waitFor();
  await page.getByLabel('New tag').fill(HOSTILE);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Remove the tag ${HOSTILE}` }).waitFor();
  await judge('model');
  await page.getByRole('button', { name: 'Optimize' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Mobile AR', { exact: true }).click();
  await judge('optimize');
  await dialog.getByRole('button', { name: 'Optimize' }).click();
  await page.getByText('The optimization is in the queue').waitFor();
  await place('Queue');
  await heading('Queue');
  await judge('queue');
  await place('Results');
  await page.locator('.card .badge', { hasText: 'similar' }).waitFor();
});

await step('source and result are compared in pictures and numbers', async () => {
  await page.getByRole('link', { name: /Oak chair/ }).click();
  await heading('Oak chair – Mobile AR');
  const slider = page.getByRole('slider', { name: /Source and result/ });
  await slider.focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.locator('.over').evaluate((box) => box.style.getPropertyValue('--cut')), '51%');
  const triangles = page.getByRole('row', { name: /^Triangles/ });
  assert.match(await triangles.textContent(), /^Triangles[\d,]+/);
  await judge('compare');
  await page.getByLabel('Heat map').check();
  await page.getByRole('img', { name: /^Differences/ }).waitFor();
  await page.getByLabel('Left').check();
  await page.getByRole('img', { name: 'Differences, left view' }).waitFor();
  await judge('heat-map');
  await page.getByLabel('Side by side').check();
  await page.getByRole('img', { name: /^Before, left/ }).waitFor();
  await page.getByLabel('USDZ').check();
  await page.getByLabel('Turntable').check();
  const turn = page.getByRole('slider', { name: 'Turn' });
  const first = await page.locator('.turn img').getAttribute('src');
  await turn.press('ArrowRight');
  assert.notEqual(await page.locator('.turn img').getAttribute('src'), first);
  const drawn = await page.locator('.turn img').evaluate((image) => image.decode().then(() => image.naturalWidth));
  assert.ok(drawn > 50, 'the pictures are there');
});

await step('a preset is made with the form and the JSON, and a refusal names the key', async () => {
  provoked = [422];
  await place('Presets');
  await page.getByRole('link', { name: 'Duplicate Web Viewer', exact: true }).click();
  await heading('New preset');
  await page.getByLabel('Name', { exact: true }).fill('Shop');
  await page.getByLabel('At most').fill('1234');
  const json = page.getByLabel('Configuration as JSON');
  const config = JSON.parse(await json.inputValue());
  assert.equal(config.limits.faces.count, 1234);
  await page.getByText('Scene', { exact: true }).click();
  await page.getByLabel('Center the model').check();
  assert.equal(JSON.parse(await json.inputValue()).sceneManipulation.centerModel, true);
  await judge('preset-editor');
  await json.fill(JSON.stringify({ ...config, limits: { faces: { cuont: 7 } } }));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('did you mean limits.faces.count').first().waitFor();
  await json.fill(JSON.stringify(config));
  assert.equal(await page.getByLabel('At most').inputValue(), '1234');
  await page.getByRole('button', { name: 'Save' }).click();
  await heading('Presets');
  await page.getByRole('link', { name: 'Shop', exact: true }).waitFor();
  await judge('presets');
});

let embedUrl;
await step('an embed is made, and its snippet can be copied', async () => {
  await place('Results');
  await page.getByRole('link', { name: /Oak chair/ }).click();
  await page.getByRole('button', { name: 'Embed' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Chair for the shop');
  await dialog.getByLabel('Width, height and depth').check();
  await judge('new-embed');
  await dialog.getByRole('button', { name: 'Make the embed' }).click();
  embedUrl = await page.getByRole('dialog').getByLabel('Address', { exact: true }).inputValue();
  const snippet = await page.getByRole('dialog').getByLabel('Snippet', { exact: true }).inputValue();
  assert.ok(snippet.startsWith(`<iframe src="${embedUrl}"`), snippet);
  await page.getByRole('button', { name: 'Close' }).click();
  await place('Embeds');
  await page.getByRole('heading', { level: 2, name: 'Chair for the shop' }).waitFor();
  await judge('embeds');
});

await step('the embed shows the model', async () => {
  const viewer = await context.newPage();
  await viewer.goto(embedUrl);
  await viewer.waitForFunction(() => document.getElementById('model')?.modelIsVisible === true);
  await judge('embed', viewer);
  await viewer.close();
});

await step('the account shows what is left, makes tokens and ends the session', async () => {
  await place('Account');
  await page.getByText('Points left').waitFor();
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('studio');
  await page.getByRole('dialog').getByRole('button', { name: 'Make the token' }).click();
  assert.match(await page.getByRole('dialog').getByLabel('Token').inputValue(), /^\d+\|\S+$/);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('rowheader', { name: 'studio' }).waitFor();
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:9/hook');
  await page.getByRole('dialog').getByRole('button', { name: 'Register it' }).click();
  await page.getByText('http://127.0.0.1:9/hook').waitFor();
  await judge('account');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await heading('Sign in');
  assert.equal(await page.evaluate(() => sessionStorage.getItem('assetfs.session')), null);
});

await browser.close();
console.log('everything worked');

// Uses the page of a running service in headless Chromium, as an artist would: signs in, uploads, looks in 3D, optimizes, compares,
// selects several, edits a preset in two tabs, loses the connection, makes an embed and opens it. Fails on an error of the console, on a request to another host, and on a
// finding of axe-core above "minor".
//
//   SIGN_IN_LINK=… node drive.mjs TOOLS BASE TOKEN_FILE MODELS [SCREENSHOTS]
//
// TOOLS is the folder whose node_modules have playwright-core and axe-core; MODELS has the folder `chair`, `square.glb` and `packed.zip`.
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
/** Whether the running step cuts the connection. */
let isOffline = false;
context.on('console', (message) => {
  if (message.type() !== 'error') return;
  const isProvoked = provoked.some((status) => message.text().includes(`status of ${status} `));
  if (!isProvoked && !(isOffline && message.text().includes('net::ERR_'))) complaints.push(`${message.text()} (${message.location().url})`);
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
  isOffline = false;
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

/** On a phone, what gets the focus by the keyboard is not behind the bar at the bottom. */
async function judgeFocusAboveBar() {
  await page.setViewportSize(NARROW);
  for (let times = 0; times < 30; times += 1) {
    await page.keyboard.press('Tab');
    const hidden = await page.evaluate(() => {
      const [focused, bar] = [document.activeElement, document.querySelector('.side nav')];
      const isBehind = !bar.contains(focused) && focused.getBoundingClientRect().bottom > bar.getBoundingClientRect().top;
      return isBehind && focused !== document.body ? focused.outerHTML : null;
    });
    assert.equal(hidden, null, 'the focus is seen');
  }
  await page.setViewportSize(WIDE);
}

const heading = (text) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
/** The frame of the 3D view, once it shows so many models. */
async function shown3d(on, count) {
  await on.locator('.stage-3d iframe').waitFor();
  await on.locator('.cover').waitFor({ state: 'hidden' });
  const frame = on.frames().find((one) => one.url().endsWith('/page/frame.html'));
  assert.equal(await frame.evaluate(() => document.querySelectorAll('model-viewer').length), count);
  return frame;
}
const place = (name) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click();

await step('a link signs in once, and leaves no trace in the address', async () => {
  const link = process.env.SIGN_IN_LINK;
  const open = async () => {
    const opened = await (await browser.newContext({ viewport: WIDE })).newPage();
    await opened.goto(link);
    return opened;
  };
  const first = await open();
  await first.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  assert.equal(new URL(first.url()).hash, '#/models');
  const kept = await first.evaluate(() => JSON.parse(localStorage.getItem('assetfs.session')));
  assert.ok(kept.isOwn && /^\d+\|./.test(kept.token) && kept.token !== token);
  await first.context().close();
  const second = await open();
  await second.getByText('This sign-in link was used already').waitFor();
  assert.equal(new URL(second.url()).hash, '#/models');
  await second.context().close();
});

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
  assert.equal(await page.evaluate(() => Object.keys(localStorage).join()), 'assetfs.session');
  assert.equal(await page.evaluate(() => sessionStorage.length + document.cookie.length), 0);
});

await step('the session is there in another tab', async () => {
  const other = await context.newPage();
  await other.goto(`${base}/#/presets`);
  await other.getByRole('heading', { level: 1, name: 'Presets' }).waitFor();
  await other.close();
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
    const { moved, movedAgain, plan } = await import(new URL('page/scripts/upload_plan.js', location.href).href);
    const { formats } = await (await fetch('page/facts.json')).json();
    const dropped = (above) => Object.entries(texts).map(([name, text]) => ({ path: above + name, file: new File([text], name) }));
    const shown = (plans) => plans.map(({ name, files, isLeftOver }) => `${isLeftOver ? '-' : name}: ${files.map((one) => one.path).join(' ')}`);
    const loose = await plan(dropped(''), formats);
    const left = loose.at(-1);
    const changed = moved(loose, left.files[0], left, loose[0], formats);
    const more = await plan([...dropped(''), { path: 'd.glb', file: new File([''], 'd.glb') }], formats);
    const again = movedAgain(more, new Map([['licence.txt', 'a.gltf'], ['wood.png', 'none'], ['gone.png', 'own']]), formats);
    return { loose: shown(loose), folder: shown(await plan(dropped('set/'), formats)), changed: shown(changed), again: shown(again) };
  }, texts);
  const groups = ['a: a.gltf a.bin wood.png', 'b: b.obj b.mtl wood.png', 'c: c.glb'];
  assert.deepEqual(planned.loose, [...groups, '-: licence.txt']);
  assert.deepEqual(planned.folder, planned.loose);
  assert.deepEqual(planned.changed, [`${groups[0]} licence.txt`, ...groups.slice(1)]);
  assert.deepEqual(planned.again, ['a: a.gltf a.bin licence.txt', groups[1], groups[2], 'd: d.glb', '-: wood.png']);
});

await step('a list of uploads that was changed by hand is not lost by Escape', async () => {
  const files = ['one.glb', 'note.txt', 'two.txt'].map((name) => ({ name, mimeType: '', buffer: Buffer.from('x') }));
  await page.locator('input[type=file]').first().setInputFiles(files);
  const list = page.locator('dialog').filter({ has: page.locator('.planned') });
  await list.getByText('Files of one').click();
  await list.getByLabel('Model of note.txt').selectOption('none');
  await list.locator('details[open]').filter({ has: page.getByLabel('Model of two.txt') }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Close the list?' }).getByRole('button', { name: 'Cancel' }).click();
  await list.getByRole('button', { name: 'Upload', exact: true }).waitFor();
  await list.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog', { name: 'Close the list?' }).getByRole('button', { name: 'Close it' }).click();
  await list.waitFor({ state: 'detached' });
});

await step('what the drive would not send is refused with its sentence, unless it is wanted', async () => {
  const glb = fs.readFileSync(path.join(modelDir, 'square.glb'));
  const gltf = fs.readFileSync(path.join(modelDir, 'chair', 'chair.gltf'));
  await page.locator('input[type=file]').first().setInputFiles([
    { name: 'cut.glb', mimeType: '', buffer: glb.subarray(0, glb.length - 40) }, { name: 'alone.gltf', mimeType: '', buffer: gltf }]);
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`incomplete: cut.glb has ${glb.length - 40} of ${glb.length} bytes`).or(dialog.getByText(/incomplete: cut\.glb has [\d.]+ of [\d.]+ kB/)).first().waitFor();
  await dialog.getByText(/missing files that the model refers to: .*\.bin/).first().waitFor();
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
  await dialog.getByText(/those that are missing, or tick/).waitFor();
  await judge('upload-refused');
  // What is missing can be dropped on the open dialog.
  await dialog.getByText('All 2 files are one model').waitFor();
  const transfer = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['more'], 'more.txt'));
    return transfer;
  });
  await dialog.getByLabel('Name').first().fill('Half a chair');
  await page.dispatchEvent('dialog', 'drop', { dataTransfer: transfer });
  await dialog.getByText('All 3 files are one model').waitFor();
  await dialog.getByLabel('All 3 files are one model').check();
  await dialog.getByText('2 models are among these files, and only').waitFor();
  await dialog.getByLabel('All 3 files are one model').uncheck();
  assert.equal(await dialog.getByLabel('Name').first().inputValue(), 'Half a chair', 'what was typed stays');
  assert.equal(await page.getByRole('dialog').count(), 1);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
});

await step('a folder of files is uploaded as one model', async () => {
  const chair = path.join(modelDir, 'chair');
  const files = fs.readdirSync(chair).map((name) => path.join(chair, name));
  await page.locator('input[type=file]').first().setInputFiles(files);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Oak chair');
  assert.match(await dialog.textContent(), new RegExp(`${files.length} files.*model chair\\.gltf`));
  await dialog.getByRole('button', { name: 'Upload' }).click();
  const uploads = page.getByRole('region', { name: 'Uploads' });
  await uploads.getByText(/^Uploaded,/).waitFor();
  await uploads.getByRole('button', { name: 'Hide' }).click();
  await uploads.getByText(/^Uploaded,/).waitFor({ state: 'hidden' });
  await uploads.getByRole('button', { name: 'Show', exact: true }).click();
  await uploads.getByText(/^Uploaded,/).waitFor();
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
  await page.getByRole('button', { name: 'Embed' }).click();
  await page.getByText('A viewer needs a glb, and neither the model nor a result').waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByText('Triangles', { exact: true }).waitFor();
  await page.getByLabel('New tag').fill(HOSTILE);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Remove the tag ${HOSTILE}` }).waitFor();
  assert.equal(await page.getByLabel('New tag').inputValue(), '');
  // A refresh changes neither what is typed nor a button, whether it finds something new or not.
  const convert = await page.getByRole('button', { name: 'Convert' }).elementHandle();
  await page.getByLabel('New tag').fill('half a ta');
  await page.getByLabel('Scale').fill('2.5');
  await page.evaluate(() => { document.querySelector('.facts h3').dataset.before = 'it'; });
  const refreshed = () => page.waitForResponse((answer) => /rawmodel\/\d+\/rapidmodels/.test(answer.url()));
  for (const isNew of [false, true]) {
    const id = page.url().split('/').pop();
    if (isNew) await page.evaluate((id) => fetch(`/api/v2/rawmodel/${id}`, { method: 'PUT', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${JSON.parse(localStorage.getItem('assetfs.session')).token}` }, body: JSON.stringify({ tags: ['elsewhere'] }) }), id);
    await Promise.all([refreshed(), page.evaluate(() => document.dispatchEvent(new Event('assetfs:changed')))]);
    if (isNew) await page.getByRole('button', { name: 'Remove the tag elsewhere' }).waitFor();
    await page.waitForTimeout(300);
    assert.equal(await page.locator('.facts h3[data-before]').count(), isNew ? 0 : 1);
    assert.equal(await page.getByLabel('New tag').inputValue(), 'half a ta');
    assert.equal(await page.getByLabel('Scale').inputValue(), '2.5');
  }
  assert.ok(await convert.evaluate((button) => button.isConnected));
  await page.getByLabel('Scale').fill('');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  assert.equal(await page.getByLabel('Scale').evaluate((field) => field.validity.valid), false, 'no scale is none to set');
  await page.getByRole('button', { name: 'Remove the tag elsewhere' }).click();
  await page.getByRole('button', { name: 'Remove the tag elsewhere' }).waitFor({ state: 'detached' });
  const frame = await shown3d(page, 1);
  assert.equal(await frame.evaluate(() => origin), 'null', 'the frame has no origin');
  await assert.rejects(frame.evaluate(() => localStorage.length), 'the frame has no session');
  for (const [label, isWire] of [['Wireframe', true], ['UV', false], ['Normals', false], ['Base colour', false], ['Textured', false]]) {
    await page.getByLabel(label, { exact: true }).check();
    const wires = await frame.evaluate(() => {
      const viewer = document.querySelector('model-viewer');
      const scene = viewer[Object.getOwnPropertySymbols(viewer).find(({ description }) => description === 'scene')];
      const found = new Set();
      scene.models[0].traverse(({ material }) => material && found.add(material.wireframe));
      return [...found];
    });
    assert.deepEqual(wires, [isWire], label);
  }
  const orbits = async (side) => {
    await page.getByRole('group', { name: 'Seen from' }).getByRole('button', { name: side }).click();
    await frame.waitForFunction(([around, above]) => [...document.querySelectorAll('model-viewer')].every((viewer) => {
      const { theta, phi } = viewer.getCameraOrbit();
      return Math.abs(theta - around) < 0.02 && Math.abs(phi - above) < 0.02;
    }), { Left: [-Math.PI / 2, Math.PI / 2], Top: [0, 0] }[side]);
  };
  await orbits('Left');
  await orbits('Top');
  await page.getByRole('button', { name: 'Fit' }).click();
  await judge('model');
  await page.getByRole('radio', { name: 'Pictures' }).check();
  await page.getByLabel('Left').check();
  await page.getByRole('img', { name: 'Oak chair, left view' }).waitFor();
  await page.getByRole('button', { name: 'Optimize' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Mobile AR', { exact: true }).click();
  // No backdrop covers the scroll bars of the window: beside a dialog they would stay bright. Those in the dialog stay.
  const bars = await page.evaluate(() => [document.documentElement, document.querySelector('dialog')].map((on) => getComputedStyle(on).scrollbarColor));
  assert.match(bars[0], /rgba\(0, 0, 0, 0\)/);
  assert.equal(bars[1], 'auto');
  await judge('optimize');
  await dialog.getByRole('button', { name: 'Optimize' }).click();
  await page.getByText('The optimization is in the queue').waitFor();
  await place('Queue');
  await heading('Queue');
  await judge('queue');
  // The page lists what the service tells of conversions.
  await page.route('**/page/conversions.json', (route) => route.fulfill({ json: { data: [
    { model_id: 1, model: 'Lamp', created_at: new Date().toISOString(), job: { status: 'executing', progress: 40, formats: ['obj', 'fbx'] } }] } }));
  await page.getByText('Conversion to OBJ, FBX').waitFor();
  await page.unroute('**/page/conversions.json');
  await place('Results');
  await page.locator('.card .badge', { hasText: 'similar' }).waitFor();
  // The same again would be paid again.
  await place('Models');
  await page.getByRole('link', { name: /Oak chair/ }).click();
  await page.getByRole('button', { name: 'Optimize' }).click();
  await dialog.locator('label', { hasText: 'Mobile AR' }).getByText('There is a result of this preset already.').waitFor();
  assert.equal(await dialog.getByText('There is a result of this preset already.').count(), 1);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await place('Results');
});

await step('source and result are compared in pictures and numbers', async () => {
  await page.getByRole('link', { name: /Oak chair/ }).click();
  await heading('Oak chair – Mobile AR');
  const frame = await shown3d(page, 2);
  const box = await page.locator('.stage-3d iframe').boundingBox();
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4 + 90, box.y + box.height / 2 + 30, { steps: 4 });
  await page.mouse.up();
  await frame.waitForFunction(() => {
    const [before, after] = [...document.querySelectorAll('model-viewer')].map((viewer) => viewer.getCameraOrbit());
    return Math.abs(before.theta - 0.611) > 0.1 && Math.abs(before.theta - after.theta) < 0.01 && Math.abs(before.phi - after.phi) < 0.01;
  });
  assert.match(await page.locator('.captions').textContent(), /^Source.*triangles.*Mobile AR.*triangles.*similarity\s[\d.]+$/);
  await judge('compare-3d');
  await page.getByLabel('Slider').check();
  const slider = page.getByRole('slider', { name: /Before and After/ });
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
  await page.getByRole('img', { name: /^Before, left/ }).waitFor();
  assert.equal(await page.getByLabel('Turntable').count(), 0, 'the 3D view turns');
});

await step('the download is the main action of a result, and its settings are shown', async () => {
  assert.deepEqual(await page.locator('.view-head .primary').allTextContents(), ['Download']);
  await page.getByRole('button', { name: 'Download', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^Download \d+ files\?$/).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Settings' }).click();
  await dialog.getByText('Settings of Oak chair – Mobile AR').waitFor();
  assert.match(await dialog.locator('.settings', { hasText: 'Triangles' }).first().textContent(), /At most50,000/);
  await judge('settings');
  const saved = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Download as a preset' }).click();
  assert.equal((await saved).suggestedFilename(), 'Oak chair preset.zip');
  await dialog.getByRole('button', { name: 'Close' }).click();
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
  await page.locator('.json').getByText('did you mean limits.faces.count').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('did you mean limits.faces.count').first().waitFor();
  for (const text of ['{"limits": {"faces":\n{"ä": [{}], "count": 7, "\\u0063ount": 8}}}', '[]', '"a"', 'null']) {
    await json.fill(text);
    const shown = await page.locator('.json > .bad', { hasText: /\S/ }).first().textContent();
    const answer = await fetch(new URL('/api/v2/preset/create', base), { method: 'POST', body: JSON.stringify({ name: 'x', config: text }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' } });
    assert.equal(answer.status, 422);
    const { errors } = await answer.json();
    assert.ok(shown && errors.config.some((sentence) => sentence.includes(shown)), `${shown} is not ${JSON.stringify(errors)}`);
    assert.ok(await page.getByLabel('At most').isDisabled(), 'the form waits');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText(shown).waitFor();
    assert.equal(await json.inputValue(), text);
  }
  await json.fill(JSON.stringify(config));
  assert.equal(await page.getByLabel('At most').inputValue(), '1234');
  await page.getByRole('button', { name: 'Save' }).click();
  await heading('Presets');
  await page.getByRole('link', { name: 'Shop', exact: true }).waitFor();
  await judge('presets');
  await judgeFocusAboveBar();
});

await step('unsaved changes ask before they are left, and are there again', async () => {
  await page.getByRole('link', { name: 'Shop', exact: true }).click();
  await heading('Shop');
  await page.getByLabel('Description').fill('for the window');
  await place('Models');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Leave without saving?').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await heading('Shop');
  // The question is not put again while it is open.
  await page.goBack();
  await page.goBack();
  await dialog.getByText('Leave without saving?').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 1);
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await heading('Presets');
  await page.getByRole('link', { name: 'Shop', exact: true }).click();
  await page.getByText('that were not saved are here again').waitFor();
  assert.equal(await page.getByLabel('Description').inputValue(), 'for the window');
  // Only looked at, they stay without a question.
  await place('Models');
  await heading('Models');
  await place('Presets');
  await page.getByRole('link', { name: 'Shop', exact: true }).click();
  await page.getByRole('button', { name: 'Discard them' }).click();
  await page.waitForFunction(() => !document.querySelector('.restored'));
  assert.equal(await page.getByLabel('Description').inputValue(), '');
});

await step('two tabs do not overwrite each other’s preset', async () => {
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByLabel('At most').fill('2222');
  await other.getByRole('button', { name: 'Save' }).click();
  await other.getByRole('heading', { level: 1, name: 'Presets' }).waitFor();
  await other.close();
  await page.getByLabel('At most').fill('3333');
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('config.limits.faces.count: 1234 → 2222').waitFor();
  await judge('preset-conflict');
  await dialog.getByLabel('Replace what is there').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await heading('Presets');
  await page.getByText('3.3K triangles').waitFor();
  // The same for changes that were left and are taken up again.
  await page.getByRole('link', { name: 'Shop', exact: true }).click();
  await page.getByLabel('At most').fill('4444');
  const id = Number(page.url().split('/').pop());
  await place('Models');
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await heading('Models');
  await page.evaluate((id) => fetch('/api/v2/preset/update', { method: 'PATCH', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${JSON.parse(localStorage.getItem('assetfs.session')).token}` },
    body: JSON.stringify({ id, name: 'Shop', config: { schema: '2.5', limits: { faces: { count: 5555 } }, compressionAndExport: { fileExports: [{ fileType: 'glb' }] } } }) }), id);
  await place('Presets');
  await page.getByRole('link', { name: 'Shop', exact: true }).click();
  await page.getByText('that were not saved are here again').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('config.limits.faces.count: 3333 → 5555').waitFor();
  await dialog.getByLabel('Replace what is there').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await heading('Presets');
  // Each editor of a new preset keeps its own changes.
  const editors = [await context.newPage(), await context.newPage()];
  for (const [at, editor] of editors.entries()) {
    await editor.goto(page.url().replace(/#.*/, '#/presets/new'));
    await editor.getByLabel('Name', { exact: true }).fill(`Tab ${at}`);
  }
  // A tab sees a moment later what another one has stored.
  await page.waitForFunction(() => Object.keys(localStorage).filter((key) => key.includes('draft')).length === 2);
  const kept = await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('draft')).map((key) => JSON.parse(localStorage.getItem(key)).draft.name));
  assert.deepEqual(kept.sort(), ['Tab 0', 'Tab 1']);
  await editors[0].getByLabel('Name', { exact: true }).fill('Shop');
  await editors[0].getByRole('button', { name: 'Save' }).click();
  await editors[0].getByRole('dialog').getByText('A preset named Shop exists already').waitFor();
  for (const editor of editors) await editor.close();
  await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('draft')).forEach((key) => localStorage.removeItem(key)));
});

await step('settings are tried on a model before they are saved, for a point that is asked for', async () => {
  await page.getByRole('link', { name: 'Shop', exact: true }).click();
  await page.getByLabel('At most').fill('500');
  await page.getByRole('button', { name: 'Try on a model' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/costs 1 of [\d,]+ points/).waitFor();
  await dialog.getByLabel('Search models').fill('oak');
  await dialog.locator('label', { hasText: 'Oak chair' }).click();
  await dialog.getByRole('button', { name: 'Try for 1 point' }).click();
  await page.locator('.preview-result').getByText('Similarity').waitFor();
  await judge('preset-preview');
  await page.getByLabel('At most').fill('501');
  await page.getByText('The settings were changed since').waitFor();
  await place('Results');
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
  await heading('Results');
  await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('draft')).forEach((key) => localStorage.removeItem(key)));
});

await step('two results are beside each other', async () => {
  await page.getByRole('link', { name: /Oak chair Mobile AR/ }).click();
  await heading('Oak chair – Mobile AR');
  await page.getByLabel('Compare with').selectOption({ index: 1 });
  await page.locator('.captions').getByText('Own settings').waitFor();
  await shown3d(page, 2);
  assert.match(await page.locator('.captions').textContent(), /Own settings.*similarity.*Mobile AR.*similarity/);
  const counted = (await page.locator('.captions').textContent()).match(/[\d,]+(?=\striangles)/g);
  assert.match(await page.locator('table.numbers thead').textContent(), /Own settings.*Mobile AR/);
  const row = page.getByRole('row', { name: /^Triangles/ });
  assert.deepEqual((await row.getByRole('cell').allTextContents()).slice(0, 2), counted, 'the numbers are those of the two results');
  await page.getByRole('row', { name: /^Similarity/ }).waitFor();
  await judge('compare-results');
  // The pictures of differences are those to the source.
  assert.equal(await page.getByLabel('Heat map').count(), 0);
  await page.reload();
  await page.locator('.captions').getByText('Own settings').waitFor();
  await page.getByLabel('Compare with').selectOption('source');
  assert.match(await page.locator('table.numbers thead').textContent(), /Before.*After/);
  await page.getByLabel('Compare with').selectOption({ index: 1 });
  await page.locator('.captions').getByText('Own settings').waitFor();
  await page.getByLabel('Side by side').check();
  await page.getByRole('img', { name: /^Own settings/ }).waitFor();
});

await step('a link to a result opens it after signing in', async () => {
  await page.getByRole('button', { name: 'Link' }).click();
  const link = await page.getByRole('dialog').getByLabel('Address', { exact: true }).inputValue();
  await page.getByText('This address works on this machine only').waitFor();
  await judge('link');
  await page.getByRole('button', { name: 'Close' }).click();
  assert.match(link, /#\/results\/\d+(\?with=\d+)?$/);
  const colleague = await browser.newContext({ viewport: WIDE });
  const theirs = await colleague.newPage();
  await theirs.goto(link);
  await theirs.locator('input[name=token]').fill(token);
  await theirs.keyboard.press('Enter');
  await theirs.getByRole('heading', { level: 1, name: 'Oak chair – Mobile AR', exact: true }).waitFor();
  assert.equal(theirs.url(), link);
  await colleague.close();
});

await step('a result whose preset has changed says that it is stale', async () => {
  const id = new URL(page.url()).hash.split('/').pop();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const tag = (tags) => fetch(new URL(`/api/v2/rapidmodel/${id}`, page.url()), { method: 'PUT', headers, body: JSON.stringify({ tags }) });
  // As a drive notes a text that names another preset of the factory.
  assert.ok((await tag(['assetfs:config=00;preset_id=1'])).ok);
  await page.reload();
  await heading('Oak chair – Mobile AR');
  await page.locator('h1 + .badge', { hasText: 'Stale' }).waitFor();
  await page.getByText('The preset has changed since this was made.').waitFor();
  await judge('stale');
  await place('Results');
  await page.locator('.card', { hasText: 'Mobile AR' }).getByText('Stale').waitFor();
});

await step('a glb in a zip has a 3D view, and what was left out is said', async () => {
  await place('Models');
  await page.locator('input[type=file]').first().setInputFiles(path.join(modelDir, 'packed.zip'));
  const asked = page.getByRole('dialog');
  await asked.getByText('2 models are in packed.zip, and only set/square.glb is read: one model is made of it, without set/lower/small.glb.').waitFor();
  await judge('upload-zip');
  await asked.getByLabel('Name').fill('  ');
  await asked.getByRole('button', { name: 'Upload', exact: true }).click();
  assert.ok(await asked.getByLabel('Name').evaluate((input) => input.validity.patternMismatch), 'a name of spaces is refused');
  await asked.getByLabel('Name').fill('packed');
  await asked.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.locator('.card', { hasText: 'packed' }).getByText('Warnings').waitFor();
  await page.getByRole('button', { name: 'Clear finished uploads' }).click();
  await page.getByRole('link', { name: /packed/ }).click();
  await shown3d(page, 1);
  await page.locator('.warnings').getByText(/the upload holds 2 models; .*small\.glb left out/).waitFor();
  await judge('zip');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the model' }).click();
  await heading('Models');
});

await step('search, filters and order are in the address, and Back takes them back', async () => {
  await place('Models');
  await heading('Models');
  await page.getByLabel('Format', { exact: true }).selectOption('gltf');
  await page.getByText('1 model', { exact: true }).waitFor();
  assert.match(page.url(), /#\/models\?format=gltf$/);
  await page.getByLabel('State', { exact: true }).selectOption('failed');
  await page.getByText('No model matches').waitFor();
  await page.goBack();
  await page.getByText('1 model', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('State', { exact: true }).inputValue(), '');
  await page.reload();
  await page.getByText('1 model', { exact: true }).waitFor();
  await page.goBack();
  await page.getByText('2 models', { exact: true }).waitFor();
  await page.getByLabel('Order', { exact: true }).selectOption('largest');
  await page.locator('.card h2').first().getByText('Oak chair').waitFor();
  await page.getByLabel('Search names and tags').fill('oak');
  await page.getByText('1 model', { exact: true }).waitFor();
  assert.match(page.url(), /q=oak/);
  await page.goto(`${base}/#/models`);
});

await step('several are selected, tagged and deleted, and a failed import says why', async () => {
  const broken = Buffer.from(fs.readFileSync(path.join(modelDir, 'square.glb')));
  broken.fill(0x7b, 24, 60);
  for (const name of ['broken.glb', 'broken too.glb']) {
    await page.locator('input[type=file]').first().setInputFiles({ name, mimeType: '', buffer: broken });
    await page.getByRole('dialog').getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('region', { name: 'Uploads' }).getByText(/^Uploaded,/).first().waitFor();
  }
  await page.getByRole('region', { name: 'Uploads' }).getByText(/could not be imported: \w/).nth(1).waitFor();
  await page.getByRole('button', { name: 'Clear finished uploads' }).click();
  await page.locator('.card .badge', { hasText: 'Failed' }).nth(1).waitFor();
  assert.match(await page.locator('.card .reason').first().textContent(), /\w/);
  await page.locator('body').press('Control+a');
  await page.getByText('4 models selected').waitFor();
  await judge('selected');
  await page.keyboard.press('Escape');
  await page.getByLabel('Select broken too').check();
  await page.getByLabel('Select broken', { exact: true }).click({ modifiers: ['Shift'] });
  const bar = page.getByRole('toolbar', { name: 'Selected' });
  await bar.getByRole('button', { name: 'Tag' }).click();
  // A tag of this kind would tell drives that one model replaces another.
  await page.getByRole('dialog').getByLabel('Tags, separated by commas').fill('waste, assetfs:replaces=1');
  await page.getByRole('dialog').getByRole('button', { name: 'Add the tags' }).click();
  await page.getByRole('dialog').getByText('are those of drives').waitFor();
  await page.getByRole('dialog').getByLabel('Tags, separated by commas').fill('waste');
  await page.getByRole('dialog').getByRole('button', { name: 'Add the tags' }).click();
  await page.getByText('Tagged 2 models.').waitFor();
  await page.getByLabel('Search names and tags').fill('broken too');
  await page.getByText('2 models selected, 1 not shown here').waitFor();
  await page.getByLabel('Search names and tags').fill('');
  await bar.getByRole('button', { name: 'Select nothing' }).click();
  await page.getByLabel('Tag', { exact: true }).focus();
  await page.locator('option', { hasText: 'waste' }).waitFor({ state: 'attached' });
  await page.getByLabel('Tag', { exact: true }).selectOption('waste');
  await page.getByText('2 models', { exact: true }).waitFor();
  await page.locator('body').press('Control+a');
  await bar.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 models' }).click();
  await page.getByText('Deleted 2 models.').waitFor();
  await page.getByText('No model matches').waitFor();
});

await step('a lost connection is said, and the page goes on by itself', async () => {
  isOffline = true;
  await context.setOffline(true);
  await place('Embeds');
  await page.getByText('This page tries again by itself').first().waitFor();
  await context.setOffline(false);
  await heading('Embeds');
  await page.waitForFunction(() => document.querySelector('.banner').textContent === '');
});

let embedUrl;
await step('an embed of a model that is no glb shows its newest result that is one', async () => {
  await place('Models');
  await page.getByRole('link', { name: /^Oak chair/ }).click();
  await page.getByRole('button', { name: 'Embed' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It will show the result “').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
});

await step('an embed is made, and its snippet can be copied', async () => {
  await place('Results');
  await page.getByRole('link', { name: /Oak chair Mobile AR/ }).click();
  await page.getByRole('button', { name: 'Embed' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Chair for the shop');
  await dialog.getByLabel('Width, height and depth').check();
  await judge('new-embed');
  await dialog.getByRole('button', { name: 'Make the embed' }).click();
  embedUrl = await page.getByRole('dialog').getByLabel('Address', { exact: true }).inputValue();
  const snippet = await page.getByRole('dialog').getByLabel('Snippet', { exact: true }).inputValue();
  assert.ok(snippet.startsWith(`<iframe src="${embedUrl}"`), snippet);
  await page.getByText('This address works on this machine only').waitFor();
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

await step('a result that a browser cannot read is on a turntable', async () => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = async (route, method = 'GET', body = undefined) => {
    const answer = await fetch(new URL(`/api/v2/${route}`, base), { method, headers, body: body && JSON.stringify(body) });
    assert.ok(answer.ok, `${route}: ${answer.status}`);
    const said = await answer.text();
    return said && JSON.parse(said);
  };
  const chair = (await call('rawmodel?q=oak')).data[0];
  const { id } = await call(`rawmodel/optimize/${chair.id}`, 'POST', { config: { limits: { faces: { count: 500 } }, compressionAndExport: { fileExports: [{ fileType: 'stl' }] } } });
  await page.goto(`${base}/#/results/${id}`);
  await page.getByLabel('Turntable').check();
  const turn = page.getByRole('slider', { name: 'Turn' });
  const first = await page.locator('.turn img').getAttribute('src');
  await turn.press('ArrowRight');
  assert.notEqual(await page.locator('.turn img').getAttribute('src'), first);
  const drawn = await page.locator('.turn img').evaluate((image) => image.decode().then(() => image.naturalWidth));
  assert.ok(drawn > 50, 'the pictures are there');
  await judge('turntable');
  await call(`rapidmodel/${id}`, 'DELETE');
});

await step('models and results have the names that the drive has', async () => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = async (route, fields) => {
    const answer = await fetch(new URL(`/api/v2/${route}`, base), fields ? { method: 'PUT', headers, body: JSON.stringify(fields) } : { headers });
    assert.ok(answer.ok, route);
    return (await answer.json()).data;
  };
  const [newer, older] = await call('rawmodel');
  const made = (await call('rapidmodel')).find(({ preset_name: preset }) => preset === 'Mobile AR');
  // As a drive notes a new version, and a text with the name "web".
  await call(`rawmodel/${newer.id}`, { tags: [`assetfs:replaces=${older.id}`] });
  await call(`rapidmodel/${made.id}`, { tags: ['assetfs:name=web'] });
  await place('Models');
  await page.reload();
  await page.getByRole('heading', { level: 2, name: `Oak chair~${older.id}`, exact: true }).waitFor();
  await page.locator('.card', { hasText: 'Oak chair' }).getByText('Replaced').waitFor();
  await place('Results');
  await page.getByRole('heading', { level: 2, name: 'Oak chair (web)', exact: true }).waitFor();
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
  // A refusal is said once, in words of the page, and at its field.
  provoked = [422];
  const refusal = { message: 'The url field must be another one.', errors: { url: ['The url field must be another one.', 'The base asset is not there.'] } };
  await page.route('**/api/v2/user/webhooks', (route) => (route.request().method() === 'POST' ? route.fulfill({ status: 422, json: refusal }) : route.continue()));
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:9/other');
  await page.getByRole('dialog').getByRole('button', { name: 'Register it' }).click();
  await page.getByRole('dialog').getByText('The model is not there.').waitFor();
  assert.equal(await page.getByText('The url field must be another one.').count(), 1);
  assert.equal(await page.locator('[aria-invalid=true]').getAttribute('name'), 'url');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.unroute('**/api/v2/user/webhooks');
  await judge('account');
  await place('Models');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await heading('Sign in');
  assert.equal(await page.evaluate(() => localStorage.length), 0);
});

await browser.close();
console.log('everything worked');

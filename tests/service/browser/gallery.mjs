// Measures the gallery of a large account in headless Chromium: how long until the first card is there, in a browser that has never
// seen the page and in one that has, and how long a filter, a search and the next page take. Prints one line for each.
//
//   node gallery.mjs TOOLS BASE TOKEN_FILE
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, base, tokenFile] = process.argv.slice(2);
const token = fs.readFileSync(tokenFile, 'utf8').trim();
const { chromium } = createRequire(path.join(path.resolve(tools), 'here.js'))('playwright-core');
const executablePath = process.env.PATH.split(':').map((dir) => path.join(dir, 'chromium')).find((file) => fs.existsSync(file));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
const RUNS = 5;

const session = (value) => localStorage.setItem('assetfs.session', JSON.stringify({ token: value, isOwn: false }));
/** Notes when the first card is in the document, and when its picture is drawn. */
function watch() {
  const look = () => {
    const card = document.querySelector('.card');
    if (card && !window.firstCard) window.firstCard = performance.now();
    const image = card?.querySelector('img');
    if (image?.complete && image.naturalWidth && !window.firstPicture) window.firstPicture = performance.now();
    if (!window.firstPicture) requestAnimationFrame(look);
  };
  look();
}
const median = (values) => [...values].sort((one, two) => one - two)[Math.floor(values.length / 2)];
const say = (name, values) => console.log(`FIGURE ${name}: ${median(values).toFixed(0)} ms (${values.map((value) => value.toFixed(0)).join(', ')})`);

const figures = { cold: [], 'cold, with its picture': [], warm: [] };
let page;
for (let run = 0; run < RUNS; run += 1) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await context.addInitScript(session, token);
  await context.addInitScript(watch);
  page = await context.newPage();
  let sent = 0;
  let requests = 0;
  page.on('response', async (response) => {
    requests += 1;
    sent += Number(response.headers()['content-length'] ?? 0);
  });
  const first = async () => {
    await page.waitForFunction(() => window.firstPicture);
    return page.evaluate(() => [window.firstCard, window.firstPicture]);
  };
  await page.goto(`${base}/`);
  const [card, picture] = await first();
  figures.cold.push(card);
  figures['cold, with its picture'].push(picture);
  if (run === 0) {
    await page.waitForLoadState('networkidle');
    console.log(`FIGURE first load: ${requests} requests, ${sent} bytes`);
  }
  await page.reload();
  figures.warm.push((await first())[0]);
  if (run < RUNS - 1) await context.close();
}
for (const [name, values] of Object.entries(figures)) say(`first card, ${name}`, values);

const total = await page.locator('.narrow-bar [role=status]').textContent();
console.log(`FIGURE ${total}, ${await page.locator('.card').count()} cards, ${await page.evaluate(() => document.querySelectorAll('*').length)} elements`);

/** The time from `action` until the words of the status and the cards are those of the answer. */
async function timed(name, action, done) {
  const values = [];
  for (let run = 0; run < RUNS; run += 1) {
    await page.waitForLoadState('networkidle');
    const started = await page.evaluate(() => performance.now());
    await action(run);
    await page.waitForFunction(done, run);
    values.push((await page.evaluate(() => performance.now())) - started);
  }
  say(name, values);
}
await timed('next page', () => page.getByRole('button', { name: 'Next' }).click(), (run) => document.querySelector('.pager span').textContent.startsWith(`Page ${run + 2} `));
await timed('order by name', (run) => page.getByLabel('Order', { exact: true }).selectOption(run % 2 ? 'newest' : 'name'), (run) => document.querySelector('.card h2').textContent === (run % 2 ? 'sample 001999' : 'sample 000000'));
await page.evaluate(() => { location.hash = '#/models'; });
await timed('search, with the pause after typing', (run) => page.getByLabel('Search names and tags').fill(`00${run}99`), (run) => document.querySelector('.card h2').textContent.includes(`00${run}99`));
await browser.close();

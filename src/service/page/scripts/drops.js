// The drop area, which is the whole page, and the file chooser. uploads.js, which takes the files, is loaded when the first
// ones come.
import { Problem } from './api.js';
import { h } from './dom.js';
import { icon } from './icons.js';
import { later } from './later.js';
import { complain } from './notices.js';

const review = later(() => import('./uploads.js'), 'review');

/** How many uploads have not ended. */
export const unended = { count: 0 };

/** Where uploads show how far they are. */
export const panel = h('section.uploads', { 'aria-label': 'Uploads', hidden: true });

/**
 * Takes files that are dropped anywhere on the page. While a dialog is open, only the list of an upload takes some, which adds them;
 * elsewhere the browser would leave the page to show the file.
 */
export function acceptDrops(page) {
  const veil = h('div.drop-veil', { hidden: true }, h('div', {}, icon('upload', 40), h('p', {}, 'Drop models, folders or zips to upload them')));
  page.append(veil);
  const takes = () => veil.isConnected && (!document.querySelector('dialog[open]') || document.querySelector('dialog[open] .planned'));
  const hasFiles = (event) => event.dataTransfer?.types.includes('Files');
  let depth = 0;
  const handlers = {
    dragenter: () => { depth += 1; },
    dragleave: () => { depth -= 1; },
    dragover: (event) => { event.dataTransfer.dropEffect = takes() ? 'copy' : 'none'; },
    drop: (event) => {
      depth = 0;
      if (!takes()) complain(new Problem('Files can be dropped when this dialog is closed.'));
      else droppedFiles(event.dataTransfer).then(review).catch(complain);
    },
  };
  for (const [name, handle] of Object.entries(handlers)) {
    document.addEventListener(name, (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      handle(event);
      veil.hidden = depth <= 0;
    });
  }
}

/** A button that opens the chooser of files. */
export function uploadButton(label = 'Upload') {
  const input = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': 'Files to upload', onchange: () => {
    review(chosenFiles(input.files)).catch(complain);
    input.value = '';
  } });
  return h('span.upload-button', {}, input,
    h('button.primary', { type: 'button', onclick: () => input.click() }, icon('upload', 18), h('span', {}, label)));
}

/** The files of a drop, folders opened. */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].filter((item) => item.kind === 'file').map((item) => item.webkitGetAsEntry?.());
  if (entries.length === 0 || entries.some((entry) => !entry)) return chosenFiles(transfer.files);
  const found = [];
  for (const entry of entries) await walk(entry, '', found);
  return found;
}

/** The files of a chooser. */
const chosenFiles = (list) => [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

async function walk(entry, above, found) {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push({ path, file });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const child of some) await walk(child, `${path}/`, found);
  }
}

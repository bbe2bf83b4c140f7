// Reads single files out of a zip: of one on the storage by ranges of bytes, so a small model in a large zip needs no download of it all.
// The service has checked the zip when it imported it; what does not fit here is refused all the same.
import { Problem } from './api.js';
import { stable } from './pictures.js';

const END = 0x06054b50;
const MEMBER = 0x02014b50;
const END_RECORD_BYTES = 22;
/** The record at the end, with the longest comment. */
const END_BYTES = END_RECORD_BYTES + 0xffff;
/** An entry of the list, without name, extra field and comment. */
const MEMBER_BYTES = 46;
/** Larger files are not read: a browser shows no model of that size. */
const MAX_MEMBER_BYTES = 512 << 20;
/** Longer lists of files are not read. */
const MAX_LIST_BYTES = 16 << 20;
const HEAD_BYTES = 30;
const STORED = 0;
const DEFLATED = 8;

/** @typedef {{path: string, size: number, read: () => Promise<ArrayBuffer>}} Member */

/** The files in the zip at `url`. @returns {Promise<Member[]>} */
export const membersOf = (url, signal) => members((from, to) => bytesOf(url, from, to, signal));

/** The files in a zip that is here. @param {ArrayBuffer} zip @returns {Promise<Member[]>} */
export const membersIn = (zip) => members(async (from, to) => ({ view: new DataView(zip.slice(from, to + 1)), total: zip.byteLength }));

/** The files in a zip that was chosen or dropped. @param {File} file @returns {Promise<Member[]>} */
export const membersOfFile = (file) => members(async (from, to) => ({ view: new DataView(await file.slice(from, to + 1).arrayBuffer()), total: file.size }));

/** @param {(from: number, to: number) => Promise<{view: DataView, total: number}>} part the bytes from `from` to `to`, both included */
async function members(part) {
  const { total } = await part(0, 0);
  const tail = (await part(Math.max(0, total - END_BYTES), total - 1)).view;
  let at = tail.byteLength - END_RECORD_BYTES;
  while (at >= 0 && tail.getUint32(at, true) !== END) at -= 1;
  if (at < 0) throw unreadable();
  const [length, from] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
  // With 2³² − 1 the numbers are elsewhere (zip64): a browser shows no model of that size.
  if (length > MAX_LIST_BYTES || from + length > total) throw unreadable();
  return length === 0 ? [] : listed((await part(from, from + length - 1)).view, total, part);
}

function listed(view, total, part) {
  const members = [];
  for (let at = 0; at + MEMBER_BYTES <= view.byteLength && view.getUint32(at, true) === MEMBER;) {
    const [method, packed, size] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
    const [name, extra, comment] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
    const head = view.getUint32(at + 42, true);
    const path = new TextDecoder().decode(new Uint8Array(view.buffer, at + MEMBER_BYTES, Math.min(name, view.byteLength - at - MEMBER_BYTES)));
    members.push({ path: path.replaceAll('\\', '/').replace(/^(\.\/)+/, ''), size, read: async () => {
      if (size > MAX_MEMBER_BYTES || head + HEAD_BYTES + packed > total) throw unreadable();
      if (method === STORED && packed !== size) throw unreadable();
      const local = (await part(head, head + HEAD_BYTES - 1)).view;
      const from = head + HEAD_BYTES + local.getUint16(26, true) + local.getUint16(28, true);
      const bytes = packed === 0 ? new ArrayBuffer(0) : (await part(from, from + packed - 1)).view.buffer;
      if (method === STORED) return bytes;
      if (method === DEFLATED) return inflated(bytes, size);
      throw unreadable();
    } });
    at += MEMBER_BYTES + name + extra + comment;
  }
  return members.filter(({ path }) => !path.endsWith('/'));
}

/** Unpacks to exactly `size` bytes. */
async function inflated(bytes, size) {
  const parts = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length > size) {
      await reader.cancel();
      throw unreadable();
    }
  }
  if (length !== size) throw unreadable();
  return new Blob(parts).arrayBuffer();
}

/** The bytes from `from` to `to`, both included, and how many there are in all. */
async function bytesOf(url, from, to, signal) {
  const response = await fetch(stable(url), { credentials: 'omit', signal, headers: { Range: `bytes=${from}-${to}` } });
  const total = Number(response.headers.get('Content-Range')?.split('/')[1]);
  if (response.status !== 206 || !Number.isSafeInteger(total)) throw new Problem('The archive of the model cannot be read. Reload the page and try again.', { status: response.status });
  const view = new DataView(await response.arrayBuffer());
  if (view.byteLength !== Math.min(to, total - 1) - from + 1) throw unreadable();
  return { view, total };
}

const unreadable = () => new Problem('The page cannot read the archive of the model. Its pictures and files are there.');

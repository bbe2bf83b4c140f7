// Whether a file is complete, as far as its format tells: the checks and the sentences of the drive (`wholeness` in
// crates/formats, `short_of` in outbox/drafts/settle). A file of another format, or whose content does not match its name,
// counts as complete.
import { extension } from './format.js';

const WHOLE = null;
const SHORT = { expected: null };
/** How much of a file's end is looked at. */
const TAIL_BYTES = 256 << 10;
/** A zip ends with a record of 22 bytes and a comment of at most 64 KiB. */
const ZIP_TAIL_BYTES = 22 + 0xffff;

/** What is missing of a file, in a sentence; null if it is whole. @param {{path: string, file: File}} one */
export async function shortage({ path, file }) {
  if (file.size === 0) return READERS[extension(path)] ? `${path} is empty` : null;
  const found = await READERS[extension(path)]?.(new Bytes(file));
  if (!found) return null;
  return found.expected === null ? `${path} is cut off` : sizeSentence(path, file.size, found.expected);
}

/** `chair.glb has 47 of 300 MB` */
export function sizeSentence(path, size, expected) {
  const [unit, name] = unitOf(expected);
  const [has, wants] = [size, expected].map((count) => inUnit(count, unit));
  return has === wants ? `${path} has ${size} of ${expected} bytes` : `${path} has ${has} of ${wants} ${name}`;
}

/** A number of bytes in a unit of so many bytes, cut and not rounded. */
function inUnit(count, unit) {
  const whole = Math.floor(count / unit);
  return unit === 1 || whole >= 10 ? String(whole) : `${whole}.${Math.floor(((count % unit) * 10) / unit)}`;
}

/** `1.2 MB`, as the drive writes it. */
export function humanSize(count) {
  const [unit, name] = unitOf(count);
  return `${inUnit(count, unit)} ${name}`;
}

const unitOf = (count) => [[1e3, 1, 'bytes'], [1e6, 1e3, 'kB'], [1e9, 1e6, 'MB'], [Infinity, 1e9, 'GB']].find(([below]) => count < below).slice(1);

/** A piece of a file at a time. */
class Bytes {
  constructor(file) {
    this.file = file;
    this.size = file.size;
  }

  async at(offset, length) {
    return new Uint8Array(await this.file.slice(offset, offset + length).arrayBuffer());
  }

  tail(length) {
    return this.at(Math.max(0, this.size - length), length);
  }

  needs(expected) {
    return this.size >= expected ? WHOLE : { expected };
  }
}

const u32 = (bytes, at, isLittle = true) => new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, isLittle);
const text = (bytes) => String.fromCharCode(...bytes);
const starts = (bytes, magic) => magic.every((byte, at) => bytes[at] === byte);
const codes = (word) => [...word].map((letter) => letter.charCodeAt(0));
/** The file ends inside `magic` and agrees with it so far. */
const stopsInside = (head, magic) => head.length < magic.length && magic.slice(0, head.length).every((byte, at) => head[at] === byte);

async function sized(bytes, magic, headLength, expected) {
  const head = await bytes.at(0, headLength);
  if (stopsInside(head, magic) || (starts(head, magic) && head.length < headLength)) return SHORT;
  return starts(head, magic) ? bytes.needs(expected(head)) : WHOLE;
}

async function png(bytes) {
  const magic = [0x89, ...codes('PNG'), 13, 10, 26, 10];
  const head = await bytes.at(0, 8);
  if (stopsInside(head, magic)) return SHORT;
  if (!starts(head, magic)) return WHOLE;
  for (let at = 8; ;) {
    const chunk = await bytes.at(at, 8);
    if (chunk.length < 8) return SHORT;
    const end = at + 12 + u32(chunk, 0, false);
    if (text(chunk.slice(4)) === 'IEND') return bytes.needs(end);
    at = end;
  }
}

async function jpeg(bytes) {
  const head = await bytes.at(0, 3);
  if (stopsInside(head, [0xff, 0xd8, 0xff])) return SHORT;
  if (!starts(head, [0xff, 0xd8, 0xff])) return WHOLE;
  const tail = await bytes.tail(TAIL_BYTES);
  for (let at = tail.length - 2; at >= 0; at -= 1) if (tail[at] === 0xff && tail[at + 1] === 0xd9) return WHOLE;
  return bytes.size <= TAIL_BYTES ? SHORT : WHOLE;
}

async function zip(bytes) {
  const head = await bytes.at(0, 4);
  const [local, end] = [[...codes('PK'), 3, 4], [...codes('PK'), 5, 6]];
  if (stopsInside(head, local)) return SHORT;
  if (!starts(head, local) && !starts(head, end)) return WHOLE;
  const tail = await bytes.tail(ZIP_TAIL_BYTES);
  for (let at = tail.length - 22; at >= 0; at -= 1) {
    if (!starts(tail.subarray(at), end)) continue;
    const comment = new DataView(tail.buffer).getUint16(at + 20, true);
    if (at + 22 + comment <= tail.length) return WHOLE;
  }
  return SHORT;
}

async function stl(bytes) {
  const head = await bytes.at(0, 1024);
  const isText = head.every((byte) => byte >= 32 || [9, 10, 13].includes(byte));
  if (starts(head, codes('solid')) && isText) {
    return /endsolid/i.test(text(await bytes.tail(4096))) ? WHOLE : SHORT;
  }
  return head.length < 84 ? SHORT : bytes.needs(84 + 50 * u32(head, 80));
}

async function step(bytes) {
  const begin = codes('ISO-10303-21;');
  const head = await bytes.at(0, begin.length);
  if (stopsInside(head, begin)) return SHORT;
  if (!starts(head, begin)) return WHOLE;
  return new TextDecoder('latin1').decode(await bytes.tail(TAIL_BYTES)).includes('END-ISO-10303-21;') ? WHOLE : SHORT;
}

/** A glTF is JSON, which ends where it began. */
async function gltf(bytes) {
  try {
    JSON.parse(await bytes.file.text());
    return WHOLE;
  } catch (error) {
    return /end of|unterminated/i.test(error.message) ? SHORT : WHOLE;
  }
}

const READERS = {
  glb: (bytes) => sized(bytes, codes('glTF'), 12, (head) => u32(head, 8)),
  webp: (bytes) => sized(bytes, codes('RIFF'), 12, (head) => u32(head, 4) + 8),
  gltf, png, jpg: jpeg, jpeg, zip, usdz: zip, '3mf': zip, stl, step, stp: step,
};

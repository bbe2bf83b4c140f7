// A configuration in a few words: triangles, textures, files.
import { read } from './config_paths.js';
import { h } from './dom.js';
import { short } from './format.js';

/** @param {string|object} config as an object or as JSON text */
export function summary(config) {
  const words = wordsOf(typeof config === 'string' ? parsed(config) : config);
  return words.length ? h('ul.tags', {}, words.map((word) => h('li', {}, word))) : null;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function wordsOf(config) {
  const count = read(config, 'limits.faces.count') ?? read(config, 'workflowSettings.targetMeshResolution.faceCount');
  const percentage = read(config, 'limits.faces.percentage');
  const megabytes = read(config, 'workflowSettings.targetMBSize');
  const limits = read(config, 'limits.textures') ?? read(config, 'workflowSettings.targetTextureResolution') ?? {};
  const pixels = Object.values(limits).filter(Number.isFinite);
  const ofA = read(config, 'compressionAndExport.fileExports') ?? [];
  const ofB = read(config, 'export') ?? [];
  const formats = [...ofA.map(({ fileType }) => fileType), ...ofB.flatMap(({ format }) => Object.keys(format ?? { glb: {} }))];
  return [
    Number.isFinite(count) && `${short(count)} triangles`,
    Number.isFinite(percentage) && `${percentage}% of triangles`,
    Number.isFinite(megabytes) && `${megabytes} MB`,
    pixels.length && `${Math.max(...pixels)} px`,
    ...new Set(formats),
  ].filter(Boolean);
}

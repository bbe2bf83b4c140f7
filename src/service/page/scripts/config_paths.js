// Reading and writing values of a configuration by path, such as `compressionAndExport.fileExports[0].fileType`.

const steps = (path) => path.split('.').flatMap((part) => {
  const [name, ...indices] = part.split('[');
  return [name, ...indices.map((index) => Number(index.replace(']', '')))];
});

/** The value at `path`, or undefined. */
export function read(config, path) {
  return steps(path).reduce((at, step) => (at === null || at === undefined ? undefined : at[step]), config);
}

/** Puts `value` at `path`, making the objects on the way; undefined removes it, and objects that become empty. */
export function write(config, path, value) {
  const way = steps(path);
  const last = way.pop();
  const parents = [config];
  for (const step of way) {
    const at = parents[parents.length - 1];
    if (typeof at[step] !== 'object' || at[step] === null) {
      if (value === undefined) return;
      at[step] = {};
    }
    parents.push(at[step]);
  }
  if (value !== undefined) {
    parents[parents.length - 1][last] = value;
    return;
  }
  delete parents[parents.length - 1][last];
  for (let depth = way.length - 1; depth >= 0; depth -= 1) {
    const child = parents[depth + 1];
    if (Array.isArray(child) || Array.isArray(parents[depth]) || Object.keys(child).length) return;
    delete parents[depth][way[depth]];
  }
}

/** How many elements the list at `path` has. */
export function listLength(config, path) {
  const list = read(config, path);
  return Array.isArray(list) ? list.length : 0;
}

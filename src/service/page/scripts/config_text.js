// Reads the text of a configuration as the service and the drive do: it is an object, and no key is in an object twice, because
// only the last value would count. The sentences are theirs (src/wire/config.rs, src/wire/strict_json.rs).

/**
 * @param {string} text
 * @returns {{config?: Record<string, any>, problem?: string}}
 */
export function readConfig(text) {
  let config;
  try {
    config = JSON.parse(text);
  } catch (error) {
    return { problem: `This is not JSON: ${error.message}` };
  }
  const problem = doubledKey(text) ?? (kindOf(config) === 'an object' ? undefined : `a configuration must be a JSON object, and this is ${kindOf(config)}`);
  return problem ? { problem } : { config };
}

function kindOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return { boolean: 'true or false', number: 'a number', string: 'a text', object: 'an object' }[typeof value];
}

/** The sentence about the first key that its object has twice; `text` is valid JSON. */
function doubledKey(text) {
  /** The keys of each object that is open; null for a list. @type {(Set<string>|null)[]} */
  const open = [];
  for (const { 0: token, 1: string, 2: colon, index } of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (!string) open.pop();
    else if (colon) {
      const key = JSON.parse(string);
      if (open.at(-1).has(key)) return `the key ${JSON.stringify(key)} is there twice; keep one of them ${placeOf(text.slice(0, index + string.length))}`;
      open.at(-1).add(key);
    }
  }
  return undefined;
}

/** Where `before` ends; columns count bytes, as in the messages of the service. */
function placeOf(before) {
  const lines = before.split('\n');
  return `at line ${lines.length}, column ${new TextEncoder().encode(lines.at(-1)).length}`;
}

// Signed addresses of pictures. Each answer of the service signs anew; the address that was first seen for a file is
// used again while it is valid, so that the browser shows a picture that it has.

const KEPT_MS = 30 * 60_000;
const seen = new Map();

/** Changes when signed addresses should be asked for anew; part of what decides whether a view is drawn again. */
export const epoch = () => Math.floor(Date.now() / KEPT_MS);

/** The address to load a signed URL from. */
export function stable(url) {
  if (!url) return null;
  const file = url.split('?')[0];
  const known = seen.get(file);
  if (known && Date.now() - known.since < KEPT_MS) return known.url;
  seen.set(file, { url, since: Date.now() });
  return url;
}

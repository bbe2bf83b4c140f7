// Which models a zip, or files that are sent as one model, hold, before they are sent: one model is made of them, so the others
// are named, by the rules of the drive (`SeveralModels::in_zip` in outbox/drafts/settle).
import { extension } from './format.js';
import { formatOf, isJunk, mainFile, stem } from './upload_plan.js';
import { membersOfFile } from './zip.js';

/** How many of the models that are left out are named. */
const NAMED = 4;

/**
 * What is to be known of a model before it is sent; null if its files hold one model.
 * @param {import('./upload_plan.js').Planned} planned
 * @param {import('./upload_plan.js').Formats} formats
 */
export async function leftOutOf({ files, isZip }, formats) {
  // A zip that cannot be read here is refused by the service, with the reason.
  const members = isZip ? await membersOfFile(files[0].file).catch(() => []) : files.map(({ path, file }) => ({ path, size: file.size }));
  const models = members.filter((one) => !isJunk(one.path) && formatOf(one, formats)?.references_known).map(({ path, size }) => ({ path, file: { size } }));
  if (models.length < 2) return null;
  const read = mainFile(models, formats);
  const isSame = ({ path }) => stem(path).toLowerCase() === stem(read.path).toLowerCase();
  // USD files may be layers of one scene.
  const isLayer = ({ path }) => [path, read.path].every((one) => extension(one).startsWith('usd'));
  const unread = models.filter((one) => !isSame(one) && !isLayer(one)).map(({ path }) => path);
  if (unread.length === 0) return null;
  const rest = unread.length > NAMED ? ` and ${unread.length - NAMED} more` : '';
  const where = isZip ? `in ${files[0].path}` : 'among these files';
  const instead = isZip ? 'unpack it and upload the folder' : 'upload them as several';
  return `${unread.length + 1} models are ${where}, and only ${read.path} is read: one model is made of it, without ${unread.slice(0, NAMED).join(', ')}${rest}. To make a model of each, ${instead}.`;
}

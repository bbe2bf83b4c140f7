// Which models a zip holds, before it is sent: it becomes one model, so the others in it are named, by the rules of the drive
// (`SeveralModels::in_zip` in outbox/drafts/settle).
import { extension } from './format.js';
import { formatOf, isJunk, mainFile, stem } from './upload_plan.js';
import { membersOfFile } from './zip.js';

/** How many of the models that are left out are named. */
const NAMED = 4;

/**
 * What is to be known of a zip before it is sent; null if it holds one model.
 * @param {import('./upload_plan.js').Planned} planned
 * @param {import('./upload_plan.js').Formats} formats
 */
export async function leftOutOf({ files, isZip }, formats) {
  if (!isZip) return null;
  // A zip that cannot be read here is refused by the service, with the reason.
  const members = await membersOfFile(files[0].file).catch(() => []);
  const models = members.filter((one) => !isJunk(one.path) && formatOf(one, formats)?.references_known).map(({ path, size }) => ({ path, file: { size } }));
  const read = mainFile(models, formats);
  const isSame = ({ path }) => stem(path).toLowerCase() === stem(read.path).toLowerCase();
  // USD files may be layers of one scene.
  const isLayer = ({ path }) => [path, read.path].every((one) => extension(one).startsWith('usd'));
  const unread = models.filter((one) => !isSame(one) && !isLayer(one)).map(({ path }) => path);
  if (unread.length === 0) return null;
  const rest = unread.length > NAMED ? ` and ${unread.length - NAMED} more` : '';
  return `${unread.length + 1} models are in ${files[0].path}, and only ${read.path} is read: one model is made of it, without ${unread.slice(0, NAMED).join(', ')}${rest}. To make a model of each, unpack it and upload the folder.`;
}

// Tags of a model: shown, added and removed.
import { Problem, put, remove } from './api.js';
import { h } from './dom.js';
import { shownName } from './format.js';
import { icon } from './icons.js';
import { changed } from './live.js';
import { attempt, complain } from './notices.js';

/** The tags of users, without those that a drive sets for itself (`is_own_tag` in wire/tag.rs). */
export const ofPeople = (tags) => tags.filter(({ name }) => !/^assetfs(:|-[0-9a-f]{32}$)/.test(name));

/** The tags in a text of a field: commas separate them. Fails if one of them cannot be a tag of a user. */
export function tagsIn(text) {
  const names = text.split(',').map((tag) => tag.trim()).filter(Boolean);
  if (names.some((name) => name.length > 255)) throw new Problem('A tag has at most 255 characters.');
  if (ofPeople(names.map((name) => ({ name }))).length < names.length) {
    throw new Problem('Tags that begin with “assetfs:” are those of drives. Choose another name.');
  }
  return names;
}

const NAME_NOTE = 'assetfs:name=';

/** A result with the name of the text in `optimize/` that it was made with, as drives note it: `chair (web)`; else its plain name. */
export function resultName({ name, tags = [] }) {
  const note = tags.find((tag) => tag.name.startsWith(NAME_NOTE));
  return note ? `${shownName(name)} (${decoded(note.name.slice(NAME_NOTE.length))})` : shownName(name);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {{id: number, name: string}[]} tags @param {string} path of the model in the API */
export function tagEditor(tags, path) {
  const shown = ofPeople(tags);
  const field = h('input', { 'aria-label': 'New tag', placeholder: 'Add a tag', maxlength: 255 });
  const form = h('form.row', {}, field, h('button.small', { type: 'submit' }, 'Add'));
  const add = async () => {
    const text = field.value;
    const names = tagsIn(text);
    if (names.length === 0) return;
    field.value = '';
    try {
      await put(path, { tags: names });
    } catch (problem) {
      field.value ||= text;
      throw problem;
    }
    changed();
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    add().catch(complain);
  });
  const chip = (tag) => h('li', {}, tag.name, h('button', { type: 'button', 'aria-label': `Remove the tag ${tag.name}`,
    onclick: (event) => attempt(event.currentTarget, () => remove(`${path}/tags/${tag.id}`).then(changed)) }, icon('close', 12)));
  return h('div.tag-editor', {}, shown.length ? h('ul.tags', { 'aria-label': 'Tags' }, shown.map(chip)) : null, form);
}

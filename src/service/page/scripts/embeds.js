// The embeds of the account: where their pages are, how often they were opened, the snippet for other pages.
import { get, query as address, remove } from './api.js';
import { KeyedList, empty, pager, picture, searchField, since } from './cards.js';
import { fill, h } from './dom.js';
import { counted, factLine } from './format.js';
import { icon } from './icons.js';
import { ask, attempt, say } from './notices.js';
import { showSnippet } from './embed_dialog.js';

export async function embeds({ place, life }) {
  let words = '';
  let page = 1;
  const grid = h('ul.grid', { 'aria-label': 'Embeds' });
  const nothing = h('div');
  const pages = pager((next) => {
    page = next;
    turn();
  });
  const cards = new KeyedList(grid, (embed) => card(embed, () => turn()));
  const refresh = async () => {
    const found = await get(address('embeds', { q: words, page }));
    cards.show(found.data.map((embed) => [JSON.stringify([embed.id, embed.view_count, embed.name]), embed]));
    grid.hidden = found.data.length === 0;
    fill(nothing, found.data.length ? null : none(words));
    pages.show(found.meta);
    return false;
  };
  const turn = () => refresh().catch((problem) => fill(nothing, h('p', {}, problem.message)));
  fill(place, h('header.view-head', {}, h('h1', {}, 'Embeds'), searchField('Search names', '', (text) => {
    words = text;
    page = 1;
    turn();
  })), grid, nothing, pages.element);
  await life.keep(refresh);
}

function none(words) {
  if (words) return empty('search', 'No embed matches', 'Search looks for every word in the names.', null);
  return empty('embeds', 'No embeds yet', 'An embed is a viewer for other pages. Open a model or a result and choose “Embed”.', h('a.button', { href: '#/results' }, 'All results'));
}

function card(embed, refresh) {
  const drop = async () => {
    const sure = await ask({ title: `Delete ${embed.name}?`, danger: true, action: 'Delete the embed',
      body: h('p', {}, 'Pages that show it will show an error instead.'), submit: () => remove(`embeds/${embed.id}`) });
    if (sure === null) return;
    say(`${embed.name} was deleted.`);
    refresh();
  };
  return h('li.card', {},
    h('div.card-picture', {}, picture(embed.thumbnail)),
    h('div.card-text', {}, h('h2.cut', { title: embed.name }, embed.name),
      h('p.hint', {}, factLine([embed.rapidModelName, counted(embed.view_count, 'view'), since(embed.created_at)])),
      h('div.row.wrap.actions', {},
        h('a.button.small', { href: embed.url, target: '_blank', rel: 'noopener', 'aria-label': `Open ${embed.name} in a new tab` }, 'Open'),
        h('button.small', { type: 'button', 'aria-label': `Snippet of ${embed.name}`, onclick: () => showSnippet(embed.name, embed.url) }, 'Snippet'),
        h('button.small.icon-only', { type: 'button', 'aria-label': `Delete ${embed.name}`, onclick: (event) => attempt(event.currentTarget, drop) }, icon('trash', 16)))));
}

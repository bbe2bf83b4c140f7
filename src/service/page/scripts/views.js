// The views of a model in pictures, one large and all small.
import { fill, h } from './dom.js';
import { stable } from './pictures.js';

/** The first is drawn larger than the others, for looking at; the others are those that are compared. */
export const VIEWS = ['overview', 'front', 'right', 'back', 'left', 'top', 'bottom'];

const title = (view) => view.charAt(0).toUpperCase() + view.slice(1);

/**
 * Small pictures to choose a view from.
 * @param {(view: string) => string|null} address @param {(view: string) => void} choose
 */
export function viewChooser(address, chosen, choose, name = 'view') {
  return h('fieldset.views', {}, h('legend.unseen', {}, 'View'), VIEWS.filter((view) => address(view)).map((view) => h('label', {},
    h('input', { type: 'radio', name, value: view, checked: view === chosen, onchange: () => choose(view) }),
    h('img', { src: stable(address(view)), alt: '', loading: 'lazy' }), h('span', {}, title(view)))));
}

/** The pictures of an uploaded model: first the overview, or its thumbnail, then the view that is chosen. */
export function viewsOf(renders, asset) {
  const prefix = Object.keys(renders)[0]?.split('-')[0];
  const address = (view) => (view === 'overview' ? asset.overview : renders[`${prefix}-${view}.png`]) ?? null;
  const large = h('div.stage-picture');
  const show = (url, alt) => fill(large, h('img', { src: stable(url), alt }));
  const first = VIEWS.find(address);
  show(address('overview') ?? asset.downloads['thumb.jpg'] ?? address(first), asset.name);
  return [large, viewChooser(address, address('overview') && 'overview', (view) => show(address(view), `${asset.name}, ${view} view`), 'source-view')];
}

// The six views of a model, one large and all small.
import { fill, h } from './dom.js';
import { stable } from './pictures.js';

export const VIEWS = ['front', 'right', 'back', 'left', 'top', 'bottom'];

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

/** The pictures of an uploaded model: first its thumbnail, then the view that is chosen. */
export function viewsOf(renders, asset) {
  const prefix = Object.keys(renders)[0]?.split('-')[0];
  const address = (view) => renders[`${prefix}-${view}.png`] ?? null;
  const large = h('div.stage-picture');
  const show = (url, alt) => fill(large, h('img', { src: stable(url), alt }));
  show(asset.downloads['thumb.jpg'] ?? address('front'), asset.name);
  return [large, viewChooser(address, null, (view) => show(address(view), `${asset.name}, ${view} view`), 'source-view')];
}

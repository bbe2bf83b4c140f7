// The icons, as strokes on a grid of 24 × 24.
import { drawing } from './dom.js';

const ICONS = {
  cube: ['M12 3 20 7.5v9L12 21l-8-4.5v-9z', 'M4 7.5 12 12l8-4.5', 'M12 12v9'],
  results: ['M4 5h7v14H4z', 'M13 5h7v14h-7', 'M7 15l1.5-2.5L10 15'],
  presets: ['M4 7h9', 'M17 7h3', 'M15 5v4', 'M4 12h3', 'M11 12h9', 'M9 10v4', 'M4 17h11', 'M19 17h1', 'M17 15v4'],
  embeds: ['M8 8l-4 4 4 4', 'M16 8l4 4-4 4', 'M13.5 6l-3 12'],
  queue: ['M4 6h16', 'M4 12h10', 'M4 18h6', 'M17 14v6', 'M14 17l3 3 3-3'],
  account: ['M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z', 'M4.5 20c.8-3.6 3.8-5 7.5-5s6.7 1.4 7.5 5'],
  upload: ['M12 16V4', 'M7 9l5-5 5 5', 'M4 16v3.5h16V16'],
  download: ['M12 4v12', 'M7 11l5 5 5-5', 'M4 16v3.5h16V16'],
  search: ['M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14z', 'M20 20l-4-4'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  trash: ['M4.5 7h15', 'M9 7V4.5h6V7', 'M6.5 7l1 13h9l1-13', 'M10 11v5', 'M14 11v5'],
  copy: ['M9 9h11v11H9z', 'M15 9V4H4v11h5'],
  check: ['M5 12.5l4.5 4.5L19 7.5'],
  warning: ['M12 4 2.8 19.5h18.4z', 'M12 10v4.5', 'M12 17.2v.1'],
  back: ['M15 5l-7 7 7 7'],
  next: ['M9 5l7 7-7 7'],
  plus: ['M12 5v14', 'M5 12h14'],
  link: ['M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 7', 'M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7L12 17'],
  open: ['M14 4h6v6', 'M20 4l-9 9', 'M18 14v6H4V6h6'],
  leave: ['M14 4h5v16h-5', 'M4 12h11', 'M11 8l4 4-4 4'],
  retry: ['M19.5 12a7.5 7.5 0 1 1-2.3-5.4', 'M20 4v4.5h-4.5'],
  spark: ['M12 3l1.8 5.7L19.5 10.5l-5.7 1.8L12 18l-1.8-5.7L4.5 10.5l5.7-1.8z', 'M19 16v4', 'M17 18h4'],
  tag: ['M4 4h8l8 8-8 8-8-8z', 'M8.2 8.2v.1'],
  full: ['M4 9V4h5', 'M15 4h5v5', 'M20 15v5h-5', 'M9 20H4v-5'],
  file: ['M6 3h8l5 5v13H6z', 'M14 3v5h5'],
};

/** @param {keyof typeof ICONS} name */
export function icon(name, size = 20) {
  return drawing(ICONS[name], size);
}

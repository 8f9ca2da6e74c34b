// Colour scales for heat maps and fields: one that diverges around zero, one that only grows.

export type Rgb = [number, number, number];

interface Scale {
  stops: Rgb[];
}

// Ends are the cotangent plum and the primal blue of the page; the middle is its paper.
const DIVERGING: Record<'light' | 'dark', Scale> = {
  light: { stops: [[122, 44, 130], [194, 142, 196], [250, 247, 240], [132, 168, 214], [29, 78, 158]] },
  dark: { stops: [[226, 160, 234], [124, 78, 132], [30, 34, 43], [62, 96, 148], [140, 186, 255]] },
};

const RISING: Record<'light' | 'dark', Scale> = {
  light: { stops: [[252, 250, 244], [222, 229, 234], [176, 199, 222], [108, 147, 194], [40, 84, 150]] },
  dark: { stops: [[20, 24, 32], [30, 44, 68], [43, 72, 116], [76, 118, 176], [150, 190, 246]] },
};

function mix(scale: Scale, t: number): Rgb {
  const last = scale.stops.length - 1;
  const place = Math.min(Math.max(t, 0), 1) * last;
  const at = Math.min(Math.floor(place), last - 1);
  const [from, to] = [scale.stops[at] as Rgb, scale.stops[at + 1] as Rgb];
  const part = place - at;
  return [0, 1, 2].map((c) => Math.round(from[c]! + (to[c]! - from[c]!) * part)) as Rgb;
}

/** The colour of a signed value; `reach` is the largest magnitude. */
export function diverging(value: number, reach: number, theme: 'light' | 'dark'): Rgb {
  return mix(DIVERGING[theme], reach > 0 ? 0.5 + value / reach / 2 : 0.5);
}

/** The colour of a fraction between 0 and 1. */
export function rising(fraction: number, theme: 'light' | 'dark'): Rgb {
  return mix(RISING[theme], fraction);
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

/** Black or white, whichever reads on a colour. */
export function inkOn([r, g, b]: Rgb): string {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#1d2433' : '#ffffff';
}

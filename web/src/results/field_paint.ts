// How a function of two numbers is painted: shaded by rank, level lines, arrows along the gradient.

import { rising } from './colour';
import { levelLine, quantileLevels } from './contour';
import { token } from '../ui/theme.svelte';
import type { FieldSample } from './plans';

export type Theme = 'light' | 'dark';
type Context = CanvasRenderingContext2D;

/** Paint a sampled field over a whole canvas of `w` by `h` pixels, `ratio` of them a CSS pixel. */
export function paintField(context: Context, field: FieldSample, [w, h]: [number, number], ratio: number, theme: Theme): void {
  shade(context, field, w, h, theme);
  lines(context, field, w, h, ratio);
  arrows(context, field, w, h, ratio);
}

/** Shade by rank, so that a valley shows as well as a wall. */
function shade(context: Context, { values, side }: FieldSample, w: number, h: number, theme: Theme): void {
  const order = Array.from(values, (v, i) => [v, i] as const).filter(([v]) => Number.isFinite(v)).sort((a, b) => a[0] - b[0]);
  const image = new ImageData(side, side);
  order.forEach(([, at], rank) => {
    const [r, g, b] = rising(1 - rank / Math.max(order.length - 1, 1), theme);
    const row = side - 1 - Math.floor(at / side);
    image.data.set([r, g, b, 255], 4 * (row * side + (at % side)));
  });
  const small = document.createElement('canvas');
  [small.width, small.height] = [side, side];
  small.getContext('2d')?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = 'high';
  context.clearRect(0, 0, w, h);
  context.drawImage(small, 0.5, 0.5, side - 1, side - 1, 0, 0, w, h);
}

function lines(context: Context, { values, side }: FieldSample, w: number, h: number, ratio: number): void {
  const [sx, sy] = [w / (side - 1), h / (side - 1)];
  context.lineWidth = 0.9 * ratio;
  context.strokeStyle = token('primal');
  context.globalAlpha = 0.5;
  context.beginPath();
  for (const level of quantileLevels(values, 13)) {
    for (const [x1, y1, x2, y2] of levelLine({ columns: side, rows: side, data: values }, level)) {
      context.moveTo(x1 * sx, h - y1 * sy);
      context.lineTo(x2 * sx, h - y2 * sy);
    }
  }
  context.stroke();
  context.globalAlpha = 1;
}

/** Arrows along the gradient; length grows with the logarithm of its norm. */
function arrows(context: Context, { arrows: slopes }: FieldSample, w: number, h: number, ratio: number): void {
  const side = Math.round(Math.sqrt(slopes.length));
  const most = Math.max(...slopes.map(([u, v]) => Math.log1p(Math.hypot(u, v))).filter(Number.isFinite), 1e-12);
  const [dx, dy] = [w / side, h / side];
  context.strokeStyle = token('cotangent');
  context.lineWidth = 1.4 * ratio;
  context.beginPath();
  slopes.forEach(([u, v], k) => {
    const norm = Math.hypot(u, v);
    if (!Number.isFinite(norm) || norm === 0) return;
    const length = (0.25 + 0.65 * (Math.log1p(norm) / most)) * Math.min(dx, dy);
    const angle = Math.atan2(-v * dy, u * dx);
    const [cx, cy] = [((k % side) + 0.5) * dx, h - (Math.floor(k / side) + 0.5) * dy];
    const [ex, ey] = [(Math.cos(angle) * length) / 2, (Math.sin(angle) * length) / 2];
    context.moveTo(cx - ex, cy - ey);
    context.lineTo(cx + ex, cy + ey);
    for (const turn of [2.6, -2.6]) {
      context.moveTo(cx + ex, cy + ey);
      context.lineTo(cx + ex + Math.cos(angle + turn) * 3.6 * ratio, cy + ey + Math.sin(angle + turn) * 3.6 * ratio);
    }
  });
  context.stroke();
}

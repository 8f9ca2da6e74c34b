// The way of a solver: told while it runs, whole in the result's trace at its end.

import type { Progress } from '../api/answers';
import { differentiated, type Settings } from '../session/request';
import type { Json } from '../api/json';
import { read, readNumber } from '../api/wire';
import type { Course, Run } from '../session/calls.svelte';
import type { ContourPlan } from './plans';

export type Point = [number, number];

const FALLING = ['value', 'residual', 'gradient_norm'] as const;

/** One moment of a solver. */
interface Moment {
  iteration: number;
  x: number[];
  falling: number;
}

export interface Way {
  /** What should fall: a value, or what is left of a residual. */
  falling: (typeof FALLING)[number] | 'loss' | null;
  moments: Moment[];
}

const numbers = (item: Json | undefined): number[] => {
  const value = read(item ?? null);
  return value.kind === 'tensor' && value.shape.length <= 1 ? Array.from(value.data) : [];
};

function told(progress: Progress[]): Way {
  const falling = FALLING.find((name) => progress.at(-1)?.[name] !== undefined) ?? null;
  const moments = progress.flatMap((one): Moment[] =>
    one.iteration === undefined ? [] : [{
      iteration: one.iteration,
      x: numbers(one.x),
      falling: falling ? (readNumber(one[falling] ?? null) ?? NaN) : NaN,
    }],
  );
  return { falling, moments };
}

/** The trace that a result holds, less the repeats of its end. */
function traced(result: Json): Way | null {
  const trace = typeof result === 'object' && result !== null && !Array.isArray(result) ? result.trace : null;
  if (typeof trace !== 'object' || trace === null || Array.isArray(trace)) return null;
  const falling = FALLING.find((name) => trace[name] !== undefined) ?? null;
  const [iterations, values] = [numbers(trace.iteration), numbers(falling ? trace[falling] : undefined)];
  const x = Array.isArray(trace.x) ? trace.x : [];
  const moments = iterations.map((iteration, i) => ({ iteration, x: numbers(x[i]), falling: values[i] ?? NaN }));
  return { falling, moments: moments.filter(({ iteration }, i) => i === 0 || iteration !== iterations[i - 1]) };
}

/** The loss of each epoch that a result holds. */
function trained(result: Json): Way | null {
  const history = typeof result === 'object' && result !== null && !Array.isArray(result) ? result.history : null;
  if (typeof history !== 'object' || history === null || Array.isArray(history)) return null;
  const losses = numbers(history.loss);
  return losses.length ? { falling: 'loss', moments: losses.map((falling, i) => ({ iteration: i + 1, x: [], falling })) } : null;
}

/** The way of a run so far, or of the last one, whole. */
export function wayOf(course: Course | null, run: Run | null): Way {
  const so = told(course?.told ?? []);
  const whole = run && (course === null || run.body === course.body) ? (traced(run.answer.body.result) ?? trained(run.answer.body.result)) : null;
  return whole && whole.moments.length >= so.moments.length ? whole : so;
}

/** The points of a way over a contour, where its unknowns are the axes; empty otherwise. */
export function pathOf(plan: ContourPlan, settings: Settings, { moments }: Way): Point[] {
  const names = plan.kind === 'vector' ? [plan.name] : [...plan.names];
  const unknowns = differentiated(settings, names);
  if (unknowns.length !== names.length) return [];
  const turned = plan.kind === 'scalars' && unknowns[0] === plan.names[1];
  return moments.flatMap(({ x }): Point[] => {
    const [u, v] = x;
    if (x.length !== 2 || !Number.isFinite(u! + v!)) return [];
    return turned ? [[v!, u!]] : [[u!, v!]];
  });
}

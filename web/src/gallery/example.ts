// An example: a function, what is asked of it, and inputs; it teaches one thing.

import type { Settings } from '../session/request';
import type { Json } from '../api/json';

export interface Example {
  id: string;
  title: string;
  lesson: string;
  settings: Partial<Settings> & { source: string; verb: string };
  args: Record<string, Json>;
  /** What the server must offer: verbs, or paths of its document. */
  needs?: string[];
  /** Range of the plot, where the default does not show it best. */
  range?: [number, number];
  /** Ranges of the sliders, likewise. */
  sliders?: Record<string, [number, number]>;
}

// What the server answers, as types: functions, results, programs, devices, arrays.

import type { Json } from './json';

export interface Parameter {
  name: string;
  default?: boolean;
}

export interface FunctionInfo {
  function: string;
  name?: string;
  kind?: string;
  parameters: Parameter[];
}

export interface LineShape {
  line: number;
  dtype: string;
  shape: number[];
}

export interface AbstractResult {
  result: Json;
  lines?: LineShape[];
}

export type CacheState = 'memory' | 'store' | 'compiled' | string;

export interface NonFinite {
  outputs: { output: string; nan: number; infinite: number; of: number }[];
  /** The operations that first made it, where the request asked for a diagnosis. */
  origin?: { line: number | null; role: Role; operation: string; message: string }[];
  hint?: string;
}

export interface CallResult {
  result: Json;
  program?: string;
  cache?: CacheState;
  device?: string;
  /** On a miss: the parts of the program's key that were new. */
  missed?: string[];
  nonfinite?: NonFinite;
  /** Of a solver: why it stopped, whether it found what was asked, and what it cost. */
  outcome?: string;
  success?: boolean;
  statistics?: Record<string, number>;
}

/** What a run tells of itself; members depend on the solver. */
export interface Progress {
  phase?: string;
  iteration?: number;
  value?: Json;
  gradient_norm?: Json;
  residual?: Json;
  /** Where the solver is, of few unknowns. */
  x?: Json;
  fraction?: number;
  step_size?: number;
  seconds?: number;
  /** What is left at this pace, in seconds. */
  left_s?: number;
}

export interface ProgramInfo {
  program: string;
  signature?: Json;
  cost?: { flops?: number; bytes?: number; peak_memory?: number; [key: string]: Json | undefined };
  cache?: { state?: CacheState; missed?: string[] };
}

export type Stage = 'jaxpr' | 'stablehlo' | 'hlo';
export type Role = 'primal' | 'tangent' | 'cotangent';

export interface IrLine {
  n: number;
  source: number[];
  role?: Role | null;
}

export interface IrText {
  text: string;
  lines: IrLine[];
}

export interface LanguageName {
  name: string;
  signature: string;
  summary: string;
}

export interface Device {
  id: string;
  kind: string;
  state?: string;
}

export interface ArrayInfo {
  array: string;
  dtype?: string;
  shape?: number[];
  layout?: string;
  nse?: number;
  bytes?: number;
}

/** A binned spy plot: counts of stored entries, row-major. */
export interface PatternInfo {
  shape?: number[];
  bins?: [number, number];
  counts?: Json;
  [key: string]: Json | undefined;
}

export interface OpenApi {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Json>>;
  components?: { schemas?: Record<string, Json> };
}

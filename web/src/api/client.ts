// The typed client of the server's API: one member an endpoint.

import type { Json } from './json';
import type {
  AbstractResult, ArrayInfo, CallResult, Device, FunctionInfo, IrText, LanguageName, OpenApi,
  PatternInfo, ProgramInfo, Stage,
} from './answers';
import { eventsOf } from './events';
import { get, post, request } from './http';

export const api = {
  language: () => get<{ data: LanguageName[] }>('/v1/language'),
  devices: () => get<{ data: Device[] }>('/v1/devices'),
  openapi: () => get<OpenApi>('/openapi.json'),
  describe: (source: string, signal?: AbortSignal) =>
    post<FunctionInfo>('/v1/functions', { source }, signal),
  abstractEval: (body: Json, signal?: AbortSignal) =>
    post<AbstractResult>('/v1/abstract_eval', body, signal),
  call: (verb: string, body: Json, signal?: AbortSignal) =>
    post<CallResult>(`/v1/${verb}`, body, signal),
  /** The same call, not waited for. */
  start: (verb: string, body: Json, signal?: AbortSignal) =>
    request<{ run: string; status: string }>(`/v1/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'respond-async' },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    }),
  events: eventsOf,
  /** Sent even by a page that is being closed. */
  cancel: (run: string) => request<Json>(`/v1/runs/${run}`, { method: 'DELETE', keepalive: true }),
  program: (body: Json, signal?: AbortSignal) => post<ProgramInfo>('/v1/programs', body, signal),
  programOf: (id: string, signal?: AbortSignal) => get<ProgramInfo>(`/v1/programs/${id}`, signal),
  ir: (program: string, stage: Stage, signal?: AbortSignal) =>
    get<IrText>(`/v1/programs/${program}/ir/${stage}`, signal),
  upload: (data: Blob | ArrayBuffer, contentType: string) =>
    request<ArrayInfo>('/v1/arrays', {
      method: 'POST',
      headers: { 'Content-Type': contentType },
      body: data,
    }),
  /** The whole value; for small ones. */
  data: (id: string) => get<Json>(`/v1/arrays/${id}/data`),
  array: (id: string) => get<ArrayInfo>(`/v1/arrays/${id}`),
  pattern: (id: string) => get<PatternInfo>(`/v1/arrays/${id}/pattern`),
};

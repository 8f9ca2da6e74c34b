// The program that the source compiled to: its id, its cost, and the source it was made from.

import { api } from '../api/client';
import type { ProgramInfo } from '../api/answers';
import { toProblem, type Problem } from '../api/problem';
import type { Body } from './request';

export class Compiled {
  program = $state.raw<ProgramInfo | null>(null);
  source = $state('');
  problem = $state.raw<Problem | null>(null);
  /** Whether the server is being asked for it. */
  busy = $state(false);

  clear(): void {
    this.program = null;
    this.problem = null;
  }

  /** Ask for a program and its cost, compiled where it is not yet; nothing runs. */
  async make(verb: string, body: Body): Promise<void> {
    this.problem = null;
    try {
      await this.follow(verb, body, null);
    } catch (error) {
      this.problem = toProblem(error);
    }
  }

  /** What a call's program is. Without an answer its id stands, by which its texts are asked for. */
  async follow(verb: string, body: Body, id: string | null, signal?: AbortSignal): Promise<void> {
    const { diagnose: _, timeout_s: __, output: ___, ...rest } = body;
    this.busy = true;
    try {
      const answer = await api.program({ ...rest, verb }, signal);
      this.program = id === null ? answer.body : { ...answer.body, program: id };
    } catch (error) {
      if (id === null || toProblem(error) === null) throw error;
      this.program = { program: id };
    } finally {
      this.busy = false;
    }
    this.source = typeof body.function === 'string' ? body.function : '';
    this.problem = null;
  }
}

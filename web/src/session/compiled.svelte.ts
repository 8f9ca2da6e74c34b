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
    const { diagnose: _, timeout_s: __, output: ___, ...rest } = body;
    this.problem = null;
    this.busy = true;
    try {
      const { body: made } = await api.program({ ...rest, verb });
      [this.program, this.source] = [made, sourceOf(body)];
    } catch (error) {
      this.problem = toProblem(error);
    } finally {
      this.busy = false;
    }
  }

  /** Show the program that an answer names, at once; its cost when it comes. None clears the pane. */
  async follow(body: Body, id: string | undefined): Promise<void> {
    if (!id) return this.clear();
    [this.source, this.problem] = [sourceOf(body), null];
    if (this.program?.program === id) return;
    this.program = { program: id };
    try {
      const { body: told } = await api.programOf(id);
      if (this.program?.program === id) this.program = told;
    } catch {
      // Without its cost the program stands, by its id.
    }
  }
}

const sourceOf = (body: Body) => (typeof body.function === 'string' ? body.function : '');

// An RFC 9457 answer: what was wrong, where, and what to do instead.

/** An RFC 9457 answer: what was wrong, where, and what to do instead. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  line?: number;
  column?: number;
  pointer?: string;
  hint?: string;
}

export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

/** What an answer that is not a success says. */
export async function problemOf(response: Response): Promise<Problem> {
  const fallback: Problem = {
    type: 'about:blank',
    title: response.statusText || 'The server answered with an error',
    status: response.status,
    detail: `HTTP ${response.status}`,
  };
  try {
    return { ...fallback, ...((await response.json()) as Partial<Problem>) };
  } catch {
    return fallback;
  }
}

/** What any thrown thing says, as a problem; null when the call was merely aborted. */
export function toProblem(error: unknown): Problem | null {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof DOMException && error.name === 'AbortError') return null;
  const detail = error instanceof Error ? error.message : String(error);
  return { type: 'about:blank', title: 'The page failed', status: 0, detail };
}

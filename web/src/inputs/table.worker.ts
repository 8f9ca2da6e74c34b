// Reads a long table beside the page, which stays smooth meanwhile.

import { parseTable } from './csv';

type Answer = { table: ReturnType<typeof parseTable> } | { fault: string };
const here = self as unknown as { onmessage: (event: MessageEvent<string | File>) => void; postMessage: (answer: Answer, moved?: Transferable[]) => void };

here.onmessage = async ({ data }) => {
  try {
    const table = parseTable(typeof data === 'string' ? data : await data.text());
    here.postMessage({ table }, [table.data.buffer]);
  } catch (error) {
    here.postMessage({ fault: error instanceof Error ? error.message : String(error) });
  }
};

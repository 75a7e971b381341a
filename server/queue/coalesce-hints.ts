import type { JobHint } from "./port.ts";

const windowMs = 20;

/** Gathers hints for 20 ms and sends the newest revision of each job once. */
export function coalesceHints(send: (hints: readonly JobHint[]) => void) {
  const newest = new Map<string, JobHint>();
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    timer = null;
    const hints = [...newest.values()];
    newest.clear();
    if (hints.length > 0) send(hints);
  };
  return {
    add(hints: readonly JobHint[]) {
      for (const hint of hints) {
        const known = newest.get(hint.jobId);
        if (!known || known.revision < hint.revision) newest.set(hint.jobId, hint);
      }
      timer ??= setTimeout(flush, windowMs);
    },
    flush() {
      if (timer) clearTimeout(timer);
      flush();
    },
  };
}

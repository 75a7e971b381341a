import type { LiveSource, Row } from "./source.ts";
import type { FeedEvent } from "./topic.ts";

/** What waits for the reader of a stream. */
export type Letter<View, Update> = FeedEvent<View, Update> & { readonly source: LiveSource<View, Update> };

/** Buffer of a stream for a slow reader: of each row it keeps only the newest state and one joined live update. */
export interface Mailbox<View, Update> {
  put(letter: Letter<View, Update>): void;
  /** Waits for letters, oldest first; returns an empty list after `waitMs` or when the signal aborts. */
  take(waitMs: number, signal: AbortSignal): Promise<readonly Letter<View, Update>[]>;
}

export function createMailbox<View, Update>(): Mailbox<View, Update> {
  const letters = new Map<string, Letter<View, Update>>();
  let wake: () => void = () => undefined;
  return {
    put(letter) {
      const key = letter.type === "rows" ? letter.source.name : letter.id;
      const last = letters.get(key);
      letters.set(key, last ? join(last, letter) : letter);
      wake();
    },
    async take(waitMs, signal) {
      if (letters.size === 0 && !signal.aborted && waitMs > 0) {
        await new Promise<void>((resolve) => {
          const done = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", done);
            wake = () => undefined;
            resolve();
          };
          const timer = setTimeout(done, waitMs);
          signal.addEventListener("abort", done);
          wake = done;
        });
      }
      const taken = [...letters.values()];
      letters.clear();
      return taken;
    },
  };
}

function join<View, Update>(last: Letter<View, Update>, next: Letter<View, Update>): Letter<View, Update> {
  if (last.type === "live" && next.type === "live")
    return { ...next, update: next.source.joinLive(last.update, next.update) };
  if (last.type !== "rows" || next.type !== "rows") return next;
  const rows = new Map<string, Row<View>>();
  for (const row of [...last.rows, ...next.rows]) rows.set(row.mark.id, row);
  return { ...next, rows: [...rows.values()], update: null };
}

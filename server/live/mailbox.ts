import type { LiveSource, Row } from "./source.ts";
import type { FeedEvent } from "./topic.ts";

/** What waits for the reader of a stream. */
export type Letter<View, Update> = FeedEvent<View, Update> & { readonly source: LiveSource<View, Update> };

/** Buffer of a stream for a slow reader: of each row it keeps only the newest state and one joined live update. */
export interface Mailbox<View, Update> {
  put(letter: Letter<View, Update>): void;
  /** Waits for letters, oldest first; an empty list after `waitMs` or when the signal aborts. */
  take(): Promise<readonly Letter<View, Update>[]>;
  close(): void;
}

interface MailboxOptions {
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export function createMailbox<View, Update>({ waitMs, signal }: MailboxOptions): Mailbox<View, Update> {
  const letters = new Map<string, Letter<View, Update>>();
  let resolve: (() => void) | null = null;
  const wake = () => {
    resolve?.();
    resolve = null;
  };
  // One timer and one listener for all waits: a stream waits for each of its updates.
  const timer = setTimeout(wake, waitMs);
  signal.addEventListener("abort", wake);
  return {
    put(letter) {
      const key = letter.type === "rows" ? letter.source.name : letter.id;
      const last = letters.get(key);
      letters.set(key, last ? join(last, letter) : letter);
      wake();
    },
    async take() {
      if (letters.size === 0 && !signal.aborted) {
        timer.refresh();
        await new Promise<void>((woken) => (resolve = woken));
      }
      const taken = [...letters.values()];
      letters.clear();
      return taken;
    },
    close() {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
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

import { newId } from "./new-id.ts";

interface Prepared {
  readonly input: string;
  readonly key: string;
}

/** One idempotency key per prepared request: it stays the same until the request is settled. */
export function createRequestKey() {
  let prepared: Prepared | null = null;
  return {
    keyFor(input: object): string {
      const text = JSON.stringify(input);
      if (prepared?.input !== text) prepared = { input: text, key: newId() };
      return prepared.key;
    },
    /** The work was taken on; the same input from now on asks for new work. */
    settle(key: string): void {
      if (prepared?.key === key) prepared = null;
    },
  };
}

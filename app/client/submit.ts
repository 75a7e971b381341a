import { newId } from "../data/new-id.ts";

interface Batch {
  readonly text: string;
  readonly keys: string[];
  readonly started: Set<number>;
}

/** One idempotency key per picture of a prepared batch: what was not answered is asked again, what was is not. */
export function createBatchKeys() {
  let batch: Batch | null = null;
  const find = (requests: readonly object[]) => (batch?.text === JSON.stringify(requests) ? batch : null);
  return {
    /** The batch of these requests; the same as before until it is settled. */
    open(requests: readonly object[]): Batch {
      batch = find(requests) ?? {
        text: JSON.stringify(requests),
        keys: requests.map(newId),
        started: new Set(),
      };
      return batch;
    },
    /** How many of these did not start while others did; null when none of them did. */
    left(requests: readonly object[]): number | null {
      const started = find(requests)?.started.size ?? 0;
      return started === 0 ? null : requests.length - started;
    },
    /** This one picture from now on asks for new work. */
    renew(requests: readonly object[], index: number): void {
      const own = find(requests);
      if (own !== null) own.keys[index] = newId();
    },
    /** The same requests from now on ask for new work. */
    settle(): void {
      batch = null;
    },
  };
}

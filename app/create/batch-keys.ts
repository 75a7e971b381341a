import { newId } from "../data/new-id.ts";

interface Batch {
  readonly text: string;
  readonly keys: readonly string[];
  readonly started: Set<number>;
}

/** One idempotency key per picture of a prepared batch: what was not answered is asked again, what was is not. */
export function createBatchKeys() {
  let batch: Batch | null = null;
  return {
    /** The batch of these requests; the same as before until it is settled. */
    open(requests: readonly object[]): Batch {
      const text = JSON.stringify(requests);
      if (batch?.text !== text) batch = { text, keys: requests.map(newId), started: new Set() };
      return batch;
    },
    /** The same requests from now on ask for new work. */
    settle(): void {
      batch = null;
    },
  };
}

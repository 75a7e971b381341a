import type { Runs } from "../runs.ts";

/** Runs that take one job alone: the door shuts with its claim. `taken` resolves then. */
export function takeOne(runs: Runs): { readonly runs: Runs; readonly taken: Promise<void> } {
  const { promise: taken, resolve } = Promise.withResolvers<void>();
  return {
    taken,
    runs: {
      ...runs,
      add(place, work) {
        runs.close();
        resolve();
        return runs.add(place, work);
      },
    },
  };
}

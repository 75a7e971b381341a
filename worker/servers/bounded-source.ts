import { orAborted } from "../or-aborted.ts";
import type { ListedServer, Source } from "./sources/source.ts";

export interface Reading {
  readonly servers: readonly ListedServer[];
  /** Why entries were passed over. */
  readonly refused: readonly string[];
}

/**
 * Reads a source and rejects after `timeoutMs`, also where nothing can stop it, as with a file on a disk that hangs: the
 * next call then waits for the same read, so that reads do not pile up.
 */
export function boundedSource(source: Source, timeoutMs: number): (signal: AbortSignal) => Promise<Reading> {
  let underWay: Promise<Reading> | null = null;
  const begin = async (signal: AbortSignal): Promise<Reading> => {
    const refused: string[] = [];
    return { servers: await source.read(signal, (reason) => refused.push(reason)), refused };
  };
  return (signal) => {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    underWay ??= begin(bounded).finally(() => {
      underWay = null;
    });
    return orAborted(underWay, bounded);
  };
}

import { type Logger, orAborted } from "@atelier/server/platform";
import type { ListedServer, Source } from "./sources/http.ts";

/** A server with every source that lists it. */
export interface FoundServer extends ListedServer {
  readonly sources: readonly string[];
}

export interface Discovery {
  /** Reads all sources once. A source that fails keeps its last good list, which is empty before the first. */
  read(signal: AbortSignal): Promise<readonly FoundServer[]>;
}

export interface DiscoveryInput {
  readonly sources: readonly Source[];
  readonly log: Logger;
  /** A source that takes longer counts as failed. */
  readonly timeoutMs: number;
}

/** At most this many refused entries are logged, so that a bad list does not fill the log. */
const maxReasons = 10;

interface Memory {
  readonly read: (signal: AbortSignal) => Promise<Reading>;
  servers: readonly ListedServer[];
  isFailing: boolean;
  /** The refused entries as last logged. */
  refused: string;
}

export function createDiscovery({ sources, log, timeoutMs }: DiscoveryInput): Discovery {
  const memories = new Map<Source, Memory>(
    sources.map((source) => [
      source,
      { read: boundedSource(source, timeoutMs), servers: [], isFailing: false, refused: "" },
    ]),
  );

  function logRefused(source: Source, memory: Memory, reasons: readonly string[]): void {
    const refused = reasons.slice(0, maxReasons).join("\n");
    if (refused === "" || refused === memory.refused) return;
    memory.refused = refused;
    log.warn({ source: source.name, entries: reasons.length, refused }, "invalid entries of a list ignored");
  }

  async function readOne(source: Source, memory: Memory, signal: AbortSignal): Promise<void> {
    try {
      const { servers, refused } = await memory.read(signal);
      memory.servers = servers;
      logRefused(source, memory, refused);
      if (memory.isFailing) log.info({ source: source.name }, "the list of servers can be read again");
      memory.isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      // Logged once: a source that stays unavailable is read every few seconds.
      if (!memory.isFailing)
        log.warn(
          { err: error, source: source.name, servers: memory.servers.length },
          "list of servers cannot be read, using the last one",
        );
      memory.isFailing = true;
    }
  }

  return {
    async read(signal) {
      await Promise.all([...memories].map(([source, memory]) => readOne(source, memory, signal)));
      return mergeLists([...memories].map(([{ name: source }, { servers }]) => ({ source, servers })));
    },
  };
}

interface SourceList {
  readonly source: string;
  readonly servers: readonly ListedServer[];
}

/**
 * One entry per address, in the order of the sources. Where sources differ: one is enough to drain, all must call the server
 * a backup, the greatest weight and the first credentials and query win.
 */
function mergeLists(lists: readonly SourceList[]): readonly FoundServer[] {
  const byUrl = new Map<string, FoundServer>();
  for (const { source, servers } of lists)
    for (const server of servers) byUrl.set(server.url, merge(byUrl.get(server.url), server, source));
  return [...byUrl.values()];
}

function merge(known: FoundServer | undefined, server: ListedServer, source: string): FoundServer {
  if (!known) return { ...server, sources: [source] };
  return {
    ...known,
    sources: known.sources.includes(source) ? known.sources : [...known.sources, source],
    headers: Object.keys(known.headers).length > 0 ? known.headers : server.headers,
    query: known.query || server.query,
    weight: Math.max(known.weight, server.weight),
    isBackup: known.isBackup && server.isBackup,
    isDrained: known.isDrained || server.isDrained,
  };
}

interface Reading {
  readonly servers: readonly ListedServer[];
  /** Why entries were refused. */
  readonly refused: readonly string[];
}

/**
 * Reads a source and rejects after `timeoutMs`, also when the read itself cannot be stopped, such as a file on a disk that
 * hangs. The next call then waits for the same read, so that reads do not pile up.
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

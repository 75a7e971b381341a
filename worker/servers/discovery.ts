import type { Logger } from "@atelier/server/platform";
import { boundedSource, type Reading } from "./bounded-source.ts";
import { mergeLists, type FoundServer } from "./merge-lists.ts";
import type { ListedServer, Source } from "./sources/source.ts";

export interface Discovery {
  /** Reads all sources once. A source that fails keeps its last good list; that of one never read is empty. */
  read(signal: AbortSignal): Promise<readonly FoundServer[]>;
}

export interface DiscoveryInput {
  readonly sources: readonly Source[];
  readonly log: Logger;
  /** A source that takes longer has failed. In ms. */
  readonly timeoutMs: number;
}

/** A list that is wrong throughout need not fill the log. */
const mostReasons = 10;

interface Memory {
  readonly read: (signal: AbortSignal) => Promise<Reading>;
  servers: readonly ListedServer[];
  isFailing: boolean;
  /** Why entries were passed over, as it was last logged. */
  refused: string;
}

export function createDiscovery({ sources, log, timeoutMs }: DiscoveryInput): Discovery {
  const memories = new Map<Source, Memory>(
    sources.map((source) => [
      source,
      { read: boundedSource(source, timeoutMs), servers: [], isFailing: false, refused: "" },
    ]),
  );

  function tellRefused(source: Source, memory: Memory, reasons: readonly string[]): void {
    const refused = reasons.slice(0, mostReasons).join("\n");
    if (refused === "" || refused === memory.refused) return;
    memory.refused = refused;
    log.warn({ source: source.name, entries: reasons.length, refused }, "entries of a list are passed over");
  }

  async function readOne(source: Source, memory: Memory, signal: AbortSignal): Promise<void> {
    try {
      const { servers, refused } = await memory.read(signal);
      memory.servers = servers;
      tellRefused(source, memory, refused);
      if (memory.isFailing) log.info({ source: source.name }, "the list of servers can be read again");
      memory.isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      // Said once: a source that stays away is asked every few seconds.
      if (!memory.isFailing)
        log.warn(
          { err: error, source: source.name, servers: memory.servers.length },
          "a list of servers cannot be read; its last one holds",
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

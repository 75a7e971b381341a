import type { ListedServer } from "./sources/source.ts";

/** A server with every source that lists it. */
export interface FoundServer extends ListedServer {
  readonly sources: readonly string[];
}

export interface SourceList {
  readonly source: string;
  readonly servers: readonly ListedServer[];
}

/**
 * One entry for each address, in the order of the sources. What differs is settled so: one source suffices to drain, all
 * must call it a backup, the greatest weight and the first credentials hold.
 */
export function mergeLists(lists: readonly SourceList[]): readonly FoundServer[] {
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
    weight: Math.max(known.weight, server.weight),
    isBackup: known.isBackup && server.isBackup,
    isDrained: known.isDrained || server.isDrained,
  };
}

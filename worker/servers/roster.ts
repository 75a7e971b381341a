import type { Need } from "@atelier/server/engines";
import type { Config, Logger } from "@atelier/server/platform";
import type { Workflow } from "@atelier/server/workflows";
import { type Loop, startLoop } from "../base/loop.ts";
import { createDiscovery, type FoundServer } from "./discovery.ts";
import { newEntry, type ServerEntry } from "./entry.ts";
import { createProbe, type ServerProbe } from "./probes.ts";
import type { Source } from "./sources/http.ts";
import { type ServerWatch, watchServer } from "./watch.ts";

export interface RosterInput {
  readonly sources: readonly Source[];
  /** Workflows that servers may run; read at each probe. */
  readonly workflows: () => readonly Workflow[];
  readonly timing: Pick<Config["timing"], "probeMs" | "probeTimeoutMs" | "discoverMs" | "objectInfoMs">;
  readonly known: Config["servers"];
  readonly log: Logger;
  /** Called after each change of a member or of the list. */
  readonly onChange: () => void;
}

export interface Member {
  readonly entry: ServerEntry;
  readonly probe: ServerProbe;
  readonly watch: ServerWatch;
}

/** The known servers: all that a source lists, and those that no source lists any more but that still have a job. */
export interface Roster {
  members(): readonly Member[];
  find(url: string): Member | undefined;
  /** Forgets a server that no source lists, once it has no job. */
  forgetIfDone(entry: ServerEntry): void;
  setDrained(urls: ReadonlySet<string>): void;
  setTaken(urls: ReadonlySet<string>): void;
  setAwaited(needs: ReadonlySet<Need>): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface State extends RosterInput {
  readonly byUrl: Map<string, Member>;
  drained: ReadonlySet<string>;
  awaited: ReadonlySet<Need>;
  /** Watches of forgotten servers that have not ended yet. */
  readonly endings: Set<Promise<void>>;
}

export function createRoster(input: RosterInput): Roster {
  const { sources, log, timing } = input;
  const state: State = {
    ...input,
    byUrl: new Map(),
    drained: new Set(),
    awaited: new Set(),
    endings: new Set(),
  };
  const stopping = new AbortController();
  const discovery = createDiscovery({ sources, log, timeoutMs: timing.probeTimeoutMs });
  let discovering: Loop | null = null;

  async function discover(): Promise<number> {
    const found = await discovery.read(stopping.signal);
    if (!stopping.signal.aborted) adopt(state, found);
    return timing.discoverMs;
  }

  return {
    members: () => [...state.byUrl.values()],
    find: (url) => state.byUrl.get(url),
    forgetIfDone: (entry) => forgetIfDone(state, entry),
    setDrained: (urls) => setDrained(state, urls),
    setTaken: (urls) => setTaken(state, urls),
    setAwaited(needs) {
      state.awaited = needs;
    },
    async start() {
      await discover();
      // `stop` may have been called during the discovery; nothing may start after it.
      if (stopping.signal.aborted) return;
      discovering = startLoop(log, "discover servers", discover);
      await Promise.all([...state.byUrl.values()].map(({ watch }) => watch.first));
    },
    async stop() {
      stopping.abort();
      await discovering?.stop();
      await Promise.all([...state.byUrl.values()].map(({ watch }) => watch.stop()));
      await Promise.all(state.endings);
    },
  };
}

/** Replaces the list of servers by the merged lists of all sources. */
function adopt(state: State, found: readonly FoundServer[]): void {
  const listed = new Set(found.map(({ url }) => url));
  for (const server of found) {
    const known = state.byUrl.get(server.url);
    if (known) Object.assign(known.entry, { found: server, isListed: true });
    else add(state, server);
  }
  for (const { entry } of state.byUrl.values()) {
    if (listed.has(entry.found.url)) continue;
    entry.isListed = false;
    forgetIfDone(state, entry);
  }
  state.onChange();
}

function add(state: State, found: FoundServer): void {
  const { log, timing, workflows, onChange } = state;
  const entry = newEntry(found);
  entry.isDrainedByAdmin = state.drained.has(found.url);
  const probe = createProbe(entry, { timing, workflows, awaited: () => state.awaited, known: state.known });
  const watch = watchServer({ entry, probe, log, probeMs: timing.probeMs, onChange });
  state.byUrl.set(found.url, { entry, probe, watch });
  log.info({ server: entry.label, sources: found.sources }, "server found");
}

function forgetIfDone({ byUrl, endings, log }: State, entry: ServerEntry): void {
  const member = byUrl.get(entry.found.url);
  if (entry.isListed || entry.jobId !== null || member?.entry !== entry) return;
  byUrl.delete(entry.found.url);
  log.info({ server: entry.label }, "server forgotten");
  const ending = member.watch.stop().finally(() => endings.delete(ending));
  endings.add(ending);
}

function setDrained(state: State, urls: ReadonlySet<string>): void {
  state.drained = urls;
  let isChanged = false;
  for (const { entry } of state.byUrl.values()) {
    const isDrained = urls.has(entry.found.url);
    isChanged ||= entry.isDrainedByAdmin !== isDrained;
    entry.isDrainedByAdmin = isDrained;
  }
  if (isChanged) state.onChange();
}

function setTaken({ byUrl, onChange }: State, urls: ReadonlySet<string>): void {
  let isChanged = false;
  for (const { entry } of byUrl.values()) {
    const isTaken = urls.has(entry.found.url) && entry.jobId === null;
    isChanged ||= entry.isTaken !== isTaken;
    entry.isTaken = isTaken;
  }
  if (isChanged) onChange();
}

import type { AppError, Config, Logger } from "@atelier/server/platform";
import type { Workflow } from "@atelier/server/workflows";
import { startLoop, type Loop } from "../loop.ts";
import { chooseServer } from "./choose-server.ts";
import { createDiscovery } from "./create-discovery.ts";
import { createProbe } from "./create-probe.ts";
import { noteFailedRun, noteGoodRun } from "./health.ts";
import type { FoundServer } from "./merge-lists.ts";
import { newEntry, toState, type ServerEntry } from "./server-entry.ts";
import type { AcquireInput, HeldServer, ServerPool } from "./server-pool.ts";
import type { ServerProbe } from "./server-probe.ts";
import type { Source } from "./sources/source.ts";
import { createWaitingLine } from "./waiting-line.ts";
import { watchServer, type ServerWatch } from "./watch-server.ts";

export interface ServerPoolInput {
  readonly sources: readonly Source[];
  /** Those that servers may be asked to run; read at each probe. */
  readonly workflows: () => readonly Workflow[];
  readonly config: {
    readonly timing: Pick<Config["timing"], "probeMs" | "probeTimeoutMs" | "discoverMs" | "objectInfoMs">;
    readonly limits: Pick<Config["limits"], "serverMemoryFailures">;
  };
  readonly log: Logger;
}

interface Member {
  readonly entry: ServerEntry;
  readonly probe: ServerProbe;
  readonly watch: ServerWatch;
}

/** Finds the servers of the sources, watches them and gives them out. Does nothing before `start`. */
export function createServerPool(input: ServerPoolInput): ServerPool {
  const { config, log } = input;
  const members = new Map<string, Member>();
  const listeners = new Set<() => void>();
  const stopping = new AbortController();
  const endings = new Set<Promise<void>>();
  const discovery = createDiscovery({ sources: input.sources, log, timeoutMs: config.timing.probeTimeoutMs });
  let drained: ReadonlySet<string> = new Set();
  let discovering: Loop | null = null;
  /** The turn of the server given out last: whoever was away meanwhile does not catch up. */
  let turn = 0;

  const line = createWaitingLine<AcquireInput, HeldServer | null>((request) => {
    const entries = [...members.values()].map(({ entry }) => entry);
    const choice = stopping.signal.aborted ? "none" : chooseServer(entries, request);
    if (choice === "none") return null;
    return choice === "busy" ? undefined : hold(choice, request.jobId);
  });

  function changed(): void {
    line.settle();
    for (const listener of listeners) listener();
  }

  function hold(entry: ServerEntry, jobId: string): HeldServer {
    turn = Math.max(turn, entry.turn);
    entry.turn = turn + 1 / entry.found.weight;
    entry.jobId = jobId;
    let isHeld = true;
    queueMicrotask(changed);
    const { url, engine, headers } = entry.found;
    const { device, vramTotalBytes } = entry.facts;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      entry.jobId = null;
      forgetIfVanished(entry);
      changed();
    };
    return { url, engine, headers, label: entry.label, device, vramTotalBytes, release };
  }

  function forgetIfVanished(entry: ServerEntry): void {
    const member = members.get(entry.found.url);
    if (entry.isListed || entry.jobId !== null || member?.entry !== entry) return;
    members.delete(entry.found.url);
    log.info({ server: entry.label }, "server forgotten");
    const ending = member.watch.stop().finally(() => endings.delete(ending));
    endings.add(ending);
  }

  function add(found: FoundServer): void {
    const entry = newEntry(found, turn);
    const probe = createProbe(found, { timing: config.timing, workflows: input.workflows });
    entry.isDrainedByAdmin = drained.has(found.url);
    const { probeMs } = config.timing;
    const watch = watchServer({ entry, probe, log, probeMs, onChange: changed });
    members.set(found.url, { entry, probe, watch });
    log.info({ server: entry.label, sources: found.sources }, "server found");
  }

  async function discover(): Promise<void> {
    const found = await discovery.read(stopping.signal);
    if (stopping.signal.aborted) return;
    const urls = new Set(found.map(({ url }) => url));
    for (const server of found) {
      const known = members.get(server.url);
      if (known) Object.assign(known.entry, { found: server, isListed: true });
      else add(server);
    }
    for (const { entry } of members.values()) {
      if (urls.has(entry.found.url)) continue;
      entry.isListed = false;
      forgetIfVanished(entry);
    }
    changed();
  }

  return {
    list: () => [...members.values()].map(({ entry }) => toState(entry)),
    acquire: (request) => line.wait(request, request.signal),
    report(url, outcome) {
      const member = members.get(url);
      if (!member) return;
      note(member, outcome, config);
      changed();
    },
    setDrained(urls) {
      drained = urls;
      let isChanged = false;
      for (const { entry } of members.values()) {
        isChanged ||= entry.isDrainedByAdmin !== urls.has(entry.found.url);
        entry.isDrainedByAdmin = urls.has(entry.found.url);
      }
      if (isChanged) changed();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async start() {
      await discover();
      discovering = startLoop(log, "discover servers", async () => {
        await discover();
        return config.timing.discoverMs;
      });
      await Promise.all([...members.values()].map(({ watch }) => watch.first));
    },
    async stop() {
      stopping.abort();
      line.settle();
      await discovering?.stop();
      await Promise.all([...[...members.values()].map(({ watch }) => watch.stop()), ...endings]);
    },
  };
}

/** A run that went wrong is followed by a probe, so that the admin sees and the next job meets the server as it is. */
function note(
  { entry, probe, watch }: Member,
  outcome: "ok" | AppError,
  { timing, limits }: ServerPoolInput["config"],
): void {
  if (outcome === "ok") {
    noteGoodRun(entry.health);
    if (entry.health.link === "down") watch.wake();
    return;
  }
  if (outcome.code === "model_missing" || outcome.code === "node_missing") probe.forget();
  noteFailedRun(entry.health, outcome, {
    memoryFailures: limits.serverMemoryFailures,
    restMs: timing.probeMs,
    nowMs: performance.now(),
  });
  watch.wake();
}

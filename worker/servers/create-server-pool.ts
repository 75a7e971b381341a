import type { AppError, Config } from "@atelier/server/platform";
import { chooseServer } from "./choose-server.ts";
import { createRoster, type Member, type RosterInput } from "./create-roster.ts";
import { noteFailedRun, noteGoodRun } from "./health.ts";
import { toState, type ServerEntry } from "./server-entry.ts";
import type { AcquireInput, HeldServer, ServerPool } from "./server-pool.ts";
import { createWaitingLine } from "./waiting-line.ts";

export interface ServerPoolInput extends Pick<RosterInput, "sources" | "workflows" | "log"> {
  readonly config: {
    readonly timing: RosterInput["timing"];
    readonly limits: Pick<Config["limits"], "serverMemoryFailures">;
  };
}

/** Finds the servers of the sources, watches them and gives them out. Does nothing before `start`. */
export function createServerPool({ config, ...input }: ServerPoolInput): ServerPool {
  const listeners = new Set<() => void>();
  const turns = { last: 0 };
  let isStopped = false;
  const changed = () => {
    line.settle();
    for (const listener of listeners) listener();
  };
  const roster = createRoster({ ...input, timing: config.timing, onChange: changed });
  const line = createWaitingLine<AcquireInput, HeldServer | null>((request) => {
    const entries = roster.members().map(({ entry }) => entry);
    const choice = isStopped ? "none" : chooseServer(entries, request);
    if (choice === "none") return null;
    if (choice === "busy") return undefined;
    takeTurn(choice, turns);
    choice.jobId = request.jobId;
    queueMicrotask(changed);
    return toHeld(choice, () => {
      choice.jobId = null;
      roster.forgetIfDone(choice);
      changed();
    });
  });
  return {
    list: () => roster.members().map(({ entry }) => toState(entry)),
    acquire: (request) => line.wait(request, request.signal),
    report(url, outcome) {
      const member = roster.find(url);
      if (!member) return;
      note(member, outcome, config);
      changed();
    },
    setDrained: (urls) => roster.setDrained(urls),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start: () => roster.start(),
    async stop() {
      isStopped = true;
      line.settle();
      await roster.stop();
    },
  };
}

/** Whoever is new or was away starts where the others are: it does not catch up on the turns that it missed. */
function takeTurn(entry: ServerEntry, turns: { last: number }): void {
  turns.last = Math.max(turns.last, entry.turn);
  entry.turn = turns.last + 1 / entry.found.weight;
}

function toHeld({ found, label, facts }: ServerEntry, giveBack: () => void): HeldServer {
  const { url, engine, headers } = found;
  const { device, vramTotalBytes } = facts;
  let isHeld = true;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    giveBack();
  };
  return { url, engine, headers, label, device, vramTotalBytes, release };
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

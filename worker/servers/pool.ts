import type { Need } from "@atelier/server/engines";
import type { Config, ErrorCode } from "@atelier/server/platform";
import { hasWishes, loadedAfter, type Workflow } from "@atelier/server/workflows";
import {
  conditionOf,
  isFree,
  needsOf,
  noteFailedRun,
  noteGoodRun,
  type ServerEntry,
  toState,
} from "./entry.ts";
import type { AcquireHolderInput, AcquireInput, HeldServer, RunOutcome, ServerPool } from "./index.ts";
import { createRoster, type Member, type RosterInput } from "./roster.ts";

export interface ServerPoolInput extends Pick<RosterInput, "sources" | "workflows" | "log"> {
  readonly config: {
    readonly timing: RosterInput["timing"];
    readonly limits: Pick<Config["limits"], "serverMemoryFailures">;
    readonly servers: Config["servers"];
  };
}

interface Waiting extends Pick<AcquireHolderInput, "url" | "jobId"> {
  readonly untilMs: number;
}

/** Finds and watches the servers of the sources and gives them to jobs. Reads nothing before `start`. */
export function createServerPool({ config, ...input }: ServerPoolInput): ServerPool {
  const listeners = new Set<() => void>();
  const turns = { last: 0 };
  let isStopped = false;
  const changed = () => {
    // First the jobs that already have a run on a server: a new job would only wait behind that run.
    holders.settle();
    line.settle();
    for (const listener of listeners) listener();
  };
  const roster = createRoster({ ...input, timing: config.timing, known: config.servers, onChange: changed });
  const give = (choice: Choice, jobId: string): HeldServer | null | undefined => {
    if (choice === "none" || isStopped) return null;
    if (choice === "busy") return undefined;
    takeTurn(choice, turns);
    choice.jobId = jobId;
    queueMicrotask(changed);
    return toHeld(choice, () => {
      choice.jobId = null;
      roster.forgetIfDone(choice);
      changed();
    });
  };
  const line = createWaitingLine<AcquireInput, HeldServer | null>((request) => {
    const entries = roster.members().map(({ entry }) => entry);
    return give(chooseServer(entries, request), request.jobId);
  });
  const holders = createWaitingLine<Waiting, HeldServer | null>(({ url, jobId, untilMs }) =>
    give(chooseHolder(roster.find(url)?.entry, performance.now() < untilMs), jobId),
  );
  return {
    list: () => roster.members().map(({ entry }) => toState(entry)),
    addressOf(url) {
      const found = roster.find(url)?.entry.found;
      return found ? { url: found.url, headers: found.headers, query: found.query } : null;
    },
    acquire: (request) => line.wait(request, request.signal),
    async acquireHolder({ patienceMs, ...request }) {
      const timer = setTimeout(() => holders.settle(), patienceMs);
      const waiting = { ...request, untilMs: performance.now() + patienceMs };
      return holders.wait(waiting, request.signal).finally(() => clearTimeout(timer));
    },
    report(url, outcome, need) {
      const member = roster.find(url);
      if (!member) return;
      noteLoaded(member.entry, { outcome, need }, input.workflows);
      if (outcome !== "begun") note(member, { outcome, need }, config);
      changed();
    },
    mustLoad(need, urls) {
      const entries = roster.members().map(({ entry }) => entry);
      const chosen = inOrder(
        entries.filter(({ found }) => urls.includes(found.url)),
        need,
      )[0];
      return chosen?.found.engine === "comfyui" && !chosen.loadedNeeds.includes(need);
    },
    setDrained: (urls) => roster.setDrained(urls),
    setTaken: (urls) => roster.setTaken(urls),
    noteTaken(url) {
      const entry = roster.find(url)?.entry;
      if (entry) entry.isTaken = true;
      changed();
    },
    setAwaited: (needs) => roster.setAwaited(needs),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start: () => roster.start(),
    async stop() {
      isStopped = true;
      holders.settle();
      line.settle();
      await roster.stop();
    },
  };
}

/** `busy`: some server can run it, but none is free. `none`: no server can run it now. */
type Choice = ServerEntry | "busy" | "none";

/** The preferred server where it is free, else the first of the free ones. */
function chooseServer(
  entries: Iterable<ServerEntry>,
  { need, avoid, prefer, wishes = [] }: Pick<AcquireInput, "need" | "avoid" | "prefer" | "wishes">,
): Choice {
  const all = [...entries].filter(
    (entry) =>
      conditionOf(entry) === "healthy" && needsOf(entry).includes(need) && !avoid.includes(entry.found.url),
  );
  const having = all.filter(({ facts }) => hasWishes(wishes, facts.choices));
  // Where none has them, a server says so best itself.
  const able = having.length > 0 ? having : all;
  if (able.length === 0) return "none";
  const free = able.filter(isFree);
  const preferred = free.find((entry) => entry.found.url === prefer);
  return preferred ?? inOrder(free, need)[0] ?? "busy";
}

/**
 * Those whose card is large enough first, backups last, then the fewest jobs in its own queue, then one that has the model
 * loaded, then the lowest turn.
 */
function inOrder(entries: readonly ServerEntry[], need: Need): ServerEntry[] {
  const isTight = ({ facts }: ServerEntry) => Number(facts.tightNeeds.includes(need));
  const mustLoad = ({ loadedNeeds }: ServerEntry) => Number(!loadedNeeds.includes(need));
  return entries.toSorted(
    (a, b) =>
      isTight(a) - isTight(b) ||
      Number(a.found.isBackup) - Number(b.found.isBackup) ||
      a.othersQueued - b.othersQueued ||
      mustLoad(a) - mustLoad(b) ||
      a.turn - b.turn,
  );
}

/** The server once it answers and no job holds it. `isPatient`: wait while it does not answer. */
function chooseHolder(entry: ServerEntry | undefined, isPatient: boolean): Choice {
  if (!entry || (entry.health.link !== "up" && !isPatient)) return "none";
  return entry.health.link === "up" && entry.jobId === null ? entry : "busy";
}

/** A server that is new or was away continues at the current turn: it does not catch up on missed turns. */
function takeTurn(entry: ServerEntry, turns: { last: number }): void {
  turns.last = Math.max(turns.last, entry.turn);
  entry.turn = turns.last + 1 / entry.found.weight;
}

function toHeld({ found, label, facts, health }: ServerEntry, giveBack: () => void): HeldServer {
  const { url, engine, headers, query } = found;
  const { device, vramTotalBytes, choices, ranges } = facts;
  const isUnfit = health.unfitRuns > 0;
  let isHeld = true;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    giveBack();
  };
  const known = { label, device, vramTotalBytes, choices, ranges, isUnfit };
  return { url, engine, headers, query, ...known, release };
}

interface Run {
  readonly outcome: RunOutcome;
  readonly need: Need;
}

/** Codes of runs that ended before the server loaded anything. */
const unloadingNothing: readonly ErrorCode[] = [
  "graph_invalid",
  "model_missing",
  "node_missing",
  "request_too_large",
  "server_busy",
];

/**
 * What the server has loaded: while it runs, only what it had and the run needs too; after a failure, and where another client's
 * prompt waits behind it, nothing is known.
 */
function noteLoaded(entry: ServerEntry, { outcome, need }: Run, workflows: () => readonly Workflow[]): void {
  if (entry.found.engine !== "comfyui") return;
  if (outcome !== "begun" && outcome !== "ok") {
    if (!unloadingNothing.includes(outcome.code)) entry.loadedNeeds = [];
    return;
  }
  const loaded = loadedAfter(need.slice(need.indexOf("/") + 1), workflows())?.map(
    (name): Need => `comfyui/${name}`,
  );
  // Without a model of its own the run leaves loaded what was.
  if (!loaded) return;
  if (entry.othersQueued > 0) entry.loadedNeeds = [];
  else
    entry.loadedNeeds = outcome === "ok" ? loaded : entry.loadedNeeds.filter((each) => loaded.includes(each));
}

/** Notes the end of a run. A failed run is followed by a probe, so that the state of the server is current. */
function note(
  { entry, probe, watch }: Member,
  { outcome, need }: { readonly outcome: Exclude<RunOutcome, "begun">; readonly need: Need },
  { timing, limits }: ServerPoolInput["config"],
): void {
  if (outcome === "ok") {
    noteGoodRun(entry.health, need);
    if (entry.health.link === "down") watch.wake();
    return;
  }
  if (outcome.code === "model_missing" || outcome.code === "node_missing") probe.forget();
  noteFailedRun(entry.health, outcome, {
    memoryFailures: limits.serverMemoryFailures,
    restMs: timing.probeMs,
    need,
    nowMs: performance.now(),
  });
  watch.wake();
}

/** Requests that wait, first come, first served. */
interface WaitingLine<Request, Result> {
  /** Tries at once and then at each `settle` until there is an answer. Rejects with the signal's reason. */
  wait(request: Request, signal: AbortSignal): Promise<Result>;
  settle(): void;
}

/** `answer` returns undefined while the request has to wait. */
function createWaitingLine<Request, Result>(
  answer: (request: Request) => Result | undefined,
): WaitingLine<Request, Result> {
  const waiting = new Set<() => void>();
  return {
    wait(request, signal) {
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(ask);
          signal.removeEventListener("abort", give);
        };
        const give = () => {
          leave();
          reject(signal.reason);
        };
        const ask = () => {
          const result = answer(request);
          if (result === undefined) return;
          leave();
          resolve(result);
        };
        if (signal.aborted) return give();
        signal.addEventListener("abort", give, { once: true });
        waiting.add(ask);
        return ask();
      });
    },
    settle() {
      for (const ask of waiting) ask();
    },
  };
}

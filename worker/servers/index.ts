/**
 * The ComfyUI and IOPaint servers of this node: finds them, probes them, and gives each to one job at a time.
 *
 * Words: a *source* (sources/) lists addresses; *discovery* merges the lists of all sources; the *roster* keeps one *entry*
 * per address; a *probe* reads what a server has and can run; the *watch* repeats the probe; `entry.ts` decides from
 * probes and runs whether a server is *healthy*; the *pool* gives servers to jobs. A server is *held* by a job of this
 * node and *taken* when another worker uses it (worker/shared-servers.ts).
 *
 * States of one server (`ServerCondition`):
 *
 *                  probe answers                 runs fail: out of memory several times,
 *      unknown ---------------------> healthy    or two needs rest, or its card is lost once
 *         |                            ^  ^  \ -----------------------------> degraded
 *         | probe fails   probe answers|  |                                      |
 *         v               (0.5 to 10 s)|  +--------------------------------------+
 *        down -------------------------+    a probe after the rest answers, memory was freed
 *         ^
 *         +--- from healthy and degraded: a probe fails, or a run ends with `server_lost` or `proxy_error`
 *
 *      any state ---> draining    while an admin or a source drains it, or no source lists it any more;
 *                                 without a source it is forgotten as soon as it has no job
 *
 * A *need* rests by itself: three failed runs in a row, and the server stays healthy for its other needs.
 *
 * Not here: how a job is run on a server (engines/), and which queue a job goes to (server/scheduling). Only the pool gives
 * servers out; nothing else may send a job to a server that it does not hold.
 */
import type { Need } from "@atelier/server/engines";
import type { AppError } from "@atelier/server/platform";
import type { ModelChoices, SeedRanges, Wish } from "@atelier/server/workflows";
import type { ServerAddress } from "./address.ts";

export type ServerEngine = "comfyui" | "iopaint";

/** Only a healthy server gets jobs. `degraded`: it answers, but its runs failed several times in a row. */
export type ServerCondition = "unknown" | "healthy" | "degraded" | "down" | "draining";

/** What a server lacks, by workflow or kind; texts for the admin. */
export type MissingByWorkflow = Readonly<Record<string, readonly string[]>>;

/** The result of one probe; null where it is not known. */
export interface ServerFacts {
  /** Type of its first device, such as `cuda` or `cpu`. */
  readonly device: string | null;
  readonly deviceName: string | null;
  readonly vramTotalBytes: number | null;
  readonly vramFreeBytes: number | null;
  readonly version: string | null;
  /** What the server can run when it is healthy: `comfyui/<workflow>` or `iopaint/<kind>`. */
  readonly needs: readonly Need[];
  /** Model files of the kinds that the workflows use, as far as they are known. */
  readonly models: readonly string[];
  /** LoRAs that it lists, where a workflow takes some. */
  readonly loras: readonly string[];
  /** What else it lists that jobs choose, by `<class>.<input>`. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly missing: MissingByWorkflow;
  /** Of its needs those for which its card may be too small. */
  readonly tightNeeds: readonly Need[];
  /** How it spells the model files of the workflows. */
  readonly choices: ModelChoices;
  /** Which numbers its nodes take as seeds. */
  readonly ranges: SeedRanges;
  /** Jobs that run and wait on the server, of all its clients. */
  readonly queueLength: number | null;
}

/** The state of one server, with the facts of its last good probe. */
export interface ServerState extends ServerFacts {
  /** Base address without credentials, query and slash at the end; identifies the server. */
  readonly url: string;
  readonly engine: ServerEngine;
  /** Host, port and path for display, such as `192.168.0.107:8188`. */
  readonly label: string;
  /** Names of the sources that list the server; empty when none does and it only finishes its job. */
  readonly sources: readonly string[];
  readonly state: ServerCondition;
  /** The job of this node that holds the server. */
  readonly jobId: string | null;
  /** Needs that it can begin without a load, by its last run; for ComfyUI alone, the others load nothing for a run. */
  readonly loadedNeeds: readonly Need[];
  /** Whether the pool can give the server to a job now. */
  readonly isFree: boolean;
  /** Why the server is not healthy; text for the admin. */
  readonly lastError: string | null;
  /** Nothing listens at the address, so no run can be left there either. */
  readonly refusesConnections: boolean;
  /** Time of the last probe, good or not. */
  readonly probedAt: Date | null;
}

/** A server that one job holds until `release`. */
export interface HeldServer {
  readonly url: string;
  readonly label: string;
  readonly engine: ServerEngine;
  /** Sent with each request; holds the credentials of the server. */
  readonly headers: Readonly<Record<string, string>>;
  /** Part of each request; may hold a token. */
  readonly query: string;
  readonly device: string | null;
  readonly vramTotalBytes: number | null;
  /** How it spells the model files of the workflows. */
  readonly choices: ModelChoices;
  /** Which numbers its nodes take as seeds. */
  readonly ranges: SeedRanges;
  /** Its last run found that it fails every run, as without its card: one that fails so now is not at fault. */
  readonly isUnfit: boolean;
  /** Idempotent. */
  release(): void;
}

export type RunOutcome = "begun" | "ok" | AppError;

export interface AcquireInput {
  readonly need: Need;
  readonly jobId: string;
  /** Addresses that must not be chosen. */
  readonly avoid: readonly string[];
  /** What the job chose of what servers list: one that has all of it is taken, where one can run the need at all. */
  readonly wishes?: readonly Wish[];
  /** The address to choose when it is free and can run the need. */
  readonly prefer: string | null;
  readonly signal: AbortSignal;
}

export interface AcquireHolderInput {
  /** The server that an earlier attempt of the job posted to. */
  readonly url: string;
  readonly jobId: string;
  /** How long to wait for a server that is down or was not probed yet. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** The ComfyUI and IOPaint servers of this node: one job at once on each. */
export interface ServerPool {
  list(): readonly ServerState[];
  /** Address and headers of a server, for requests that need no hold on it. */
  addressOf(url: string): ServerAddress | null;
  /**
   * Waits while every server that can run the need is busy, first come, first served; null when none can run it now.
   * Chooses the server with the shortest queue of its own, then one that has the model loaded, then in turn by weight.
   * Rejects with the signal's reason.
   */
  acquire(input: AcquireInput): Promise<HeldServer | null>;
  /**
   * Holds the server on which the job may still run, also when it drains, rests or lacks the need: to adopt that run, not
   * to post a new one. Waits while another job holds it; null when this node does not have the server or the server
   * stays down. Rejects with the signal's reason.
   */
  acquireHolder(input: AcquireHolderInput): Promise<HeldServer | null>;
  /** Reports that a run of the need began, and how it ended, before the release, so that no further job gets a lost server. */
  report(url: string, outcome: RunOutcome, need: Need): void;
  /** Whether the first choice among these servers, busy or not, has to load its models for the need; false when it knows none of them. */
  mustLoad(need: Need, urls: readonly string[]): boolean;
  /** All addresses that the admin drains; servers that are not in the set are no longer drained. */
  setDrained(urls: ReadonlySet<string>): void;
  /** All addresses that other workers use now; a server that a job of this node holds is not affected. */
  setTaken(urls: ReadonlySet<string>): void;
  /** Adds one address, until the next `setTaken`. */
  noteTaken(url: string): void;
  /** Needs that open jobs wait for: the node classes of their workflows are read more often. */
  setAwaited(needs: ReadonlySet<Need>): void;
  /** Calls the listener after each change of `list`. Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void;
  /** Resolves when the first probe of each server found is done, good or not. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export { createServerPool } from "./pool.ts";
export { checkServers } from "./check.ts";
export { withoutSecrets } from "./address.ts";
export { createSources, readServerAddress } from "./sources/index.ts";

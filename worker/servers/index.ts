import type { Need } from "@atelier/server/engines";
import type { AppError } from "@atelier/server/platform";
import type { ServerAddress } from "./address.ts";

export type ServerEngine = "comfyui" | "iopaint";

/** Only a healthy server is given jobs. Degraded: it answers, but its runs failed several times in a row. */
export type ServerCondition = "unknown" | "healthy" | "degraded" | "down" | "draining";

/** What a server lacks for one workflow, in words for the admin. */
export type MissingByWorkflow = Readonly<Record<string, readonly string[]>>;

/** What one probe found out. Sizes in bytes; null where nothing was heard of it yet. */
export interface ServerFacts {
  /** Type of its first device, such as `cuda` or `cpu`. */
  readonly device: string | null;
  readonly deviceName: string | null;
  readonly vramTotalBytes: number | null;
  readonly vramFreeBytes: number | null;
  readonly version: string | null;
  /** What it can run when it is healthy: `comfyui/<workflow>` or `iopaint/<kind>`. */
  readonly needs: readonly Need[];
  /** Model files of the kinds that the workflows use, as far as they are known. */
  readonly models: readonly string[];
  readonly missing: MissingByWorkflow;
  /** Jobs running and waiting on it, whoever sent them. */
  readonly queueLength: number | null;
}

/** What is known of one server, with the facts of its last good probe. */
export interface ServerState extends ServerFacts {
  /** Base address without credentials and without a slash at the end; tells servers apart. */
  readonly url: string;
  readonly engine: ServerEngine;
  /** Host and port (and path, if any) for people, such as `192.168.0.107:8188`. */
  readonly label: string;
  /** Names of the sources that list it; empty when it has vanished from all and only ends its job. */
  readonly sources: readonly string[];
  readonly state: ServerCondition;
  /** The job of this node that runs on it. */
  readonly jobId: string | null;
  /** Whether the next job could be given to it at this moment. */
  readonly isFree: boolean;
  /** Why it is not healthy, in words for the admin. */
  readonly lastError: string | null;
  /** Nothing listens at its address, so that no run of it is left either. */
  readonly refusesConnections: boolean;
  /** When it was last asked how it is. */
  readonly probedAt: Date | null;
}

/** A server that is kept for one job until `release`. */
export interface HeldServer {
  readonly url: string;
  readonly label: string;
  readonly engine: ServerEngine;
  /** Sent with each request; holds the credentials that stood in the configured address. */
  readonly headers: Readonly<Record<string, string>>;
  readonly device: string | null;
  readonly vramTotalBytes: number | null;
  /** Idempotent. */
  release(): void;
}

export interface AcquireInput {
  readonly need: Need;
  readonly jobId: string;
  /** Addresses that are never given. */
  readonly avoid: readonly string[];
  /** The address that is given when it is free and can run it. */
  readonly prefer: string | null;
  readonly signal: AbortSignal;
}

export interface AcquireHolderInput {
  /** The server that was given work of the job before. */
  readonly url: string;
  readonly jobId: string;
  /** How long a server is waited for that is away or was not heard of yet. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** The ComfyUI and IOPaint servers of this node: one job at once on each. */
export interface ServerPool {
  list(): readonly ServerState[];
  /** How one of them is reached, for what takes no place there. */
  addressOf(url: string): ServerAddress | null;
  /**
   * Waits while every server that can run the need is busy, first come, first served; null when none can run it now.
   * Servers are taken in turn, those with the fewest jobs in their own queue first. Rejects with the signal's reason.
   */
  acquire(input: AcquireInput): Promise<HeldServer | null>;
  /**
   * The server on which the job may still be at work, also one that is drained, rests or lacks what the need asks for:
   * to look after that work, not to begin anew. Waits while another job has its place; null when it is not of this
   * node or stays away. Rejects with the signal's reason.
   */
  acquireHolder(input: AcquireHolderInput): Promise<HeldServer | null>;
  /** How a run of the need ended on the server, before its release: a lost server is out at once. */
  report(url: string, outcome: "ok" | AppError, need: Need): void;
  /** Addresses that the admin drains; others that were drained before are taken back. */
  setDrained(urls: ReadonlySet<string>): void;
  /** Addresses of servers that other workers use at the moment; a server that works on a job of this node is none. */
  setTaken(urls: ReadonlySet<string>): void;
  /** One more of them, until the next `setTaken`. */
  noteTaken(url: string): void;
  /** Needs that open jobs wait for: what their workflows lack is looked for more often. */
  setAwaited(needs: ReadonlySet<Need>): void;
  /** Called after each change of what `list` gives. Returns how to unsubscribe. */
  onChange(listener: () => void): () => void;
  /** Resolves when each server that was found has answered or failed its first probe. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export { createServerPool } from "./pool.ts";
export { createSources } from "./sources/index.ts";
export { pluginsByKind } from "./probes.ts";

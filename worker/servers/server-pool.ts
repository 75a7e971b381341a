import type { Need } from "@atelier/server/engines";
import type { AppError } from "@atelier/server/platform";
import type { ServerAddress } from "./address.ts";
import type { ServerEngine, ServerState } from "./server-state.ts";

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

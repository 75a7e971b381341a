import type { Need } from "@atelier/server/engines";
import type { AppError } from "@atelier/server/platform";
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

/** The ComfyUI and IOPaint servers of this node: one job at once on each. */
export interface ServerPool {
  list(): readonly ServerState[];
  /**
   * Waits while every server that can run the need is busy, first come, first served; null when none can run it now.
   * Servers are taken in turn, those with the fewest jobs in their own queue first. Rejects with the signal's reason.
   */
  acquire(input: AcquireInput): Promise<HeldServer | null>;
  /** How a run on the server ended, told before its release: a lost server is out at once. */
  report(url: string, outcome: "ok" | AppError): void;
  /** Addresses that the admin drains; others that were drained before are taken back. */
  setDrained(urls: ReadonlySet<string>): void;
  /** Called after each change of what `list` gives. Returns how to unsubscribe. */
  onChange(listener: () => void): () => void;
  /** Resolves when each server that was found has answered or failed its first probe. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

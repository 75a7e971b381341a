/**
 * Queue: messages between processes, over Redis or PostgreSQL. It carries no state: every message may be lost, come
 * twice or come late, and the database then gives the answer.
 *
 * Terms. Bell: invites the nodes of a queue to claim; it travels through BullMQ. Hint: reports after a commit which
 * jobs changed. Progress: live figures and previews of running jobs, never stored here.
 *
 * Rules. Never put the data of a job into a bell, and never decide by a message what the row can answer. Publish only
 * after the commit. A backend that is away must not delay a submit or the end of a process.
 */

import type { Env } from "../platform/index.ts";

/** Where bells and hints travel: Redis when there is one, else PostgreSQL. */
export type QueueConnection =
  | { readonly backend: "redis"; readonly url: string }
  | { readonly backend: "postgres"; readonly url: string };

/** Chooses the backend from the environment; LISTEN needs a direct connection where there is a pooler. */
export function queueConnection(
  env: Pick<Env, "REDIS_URL" | "DATABASE_DIRECT_URL">,
  databaseUrl: string,
): QueueConnection {
  if (env.REDIS_URL) return { backend: "redis", url: env.REDIS_URL };
  return { backend: "postgres", url: env.DATABASE_DIRECT_URL ?? databaseUrl };
}

/** Called with errors of connections that mend themselves; they are logged, not thrown. */
export type OnConnectionError = (error: Error) => void;

/** A bell invites the nodes of a queue to claim; it names the job that caused it, not the one that is claimed. */
export interface Bell {
  readonly jobId: string;
  readonly attempt: number;
  readonly ring: number;
}

/** A node's subscription to one queue. */
export interface BellConsumer {
  /** Changes how many bells are answered at once; at least 1. */
  setSlots(slots: number): void;
  /** Takes no new bells; resolves when those under way are done. */
  close(): Promise<void>;
}

export interface Bells {
  /** Rings once per bell; a bell that is lost is rung again by the sweep. */
  ring(queue: string, bells: readonly Bell[]): Promise<void>;
  /** Calls `onBell` for each bell, at most `slots` at once. */
  consume(queue: string, slots: number, onBell: (bell: Bell) => Promise<void>): BellConsumer;
  /** Throws when the backend cannot be reached. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What changed, said after commit. Losing a hint costs at most one second. */
export interface JobHint {
  readonly ownerId: string;
  readonly jobId: string;
  readonly revision: number;
}

/** Progress between two revisions. The receiver finds the owner by the job, since a guest's job may change its owner. */
export interface LiveProgress {
  readonly jobId: string;
  readonly attempt: number;
  readonly progress: number;
  readonly stage: string;
  /** Base64 of a small JPEG; left out where the last one is still the newest. */
  readonly preview?: string;
}

/** Running jobs that a web process shows to someone; it repeats the message while it does. */
interface WatchedJobs {
  readonly type: "watched";
  readonly jobIds: readonly string[];
  /** The web process has no live progress of these jobs yet, so each worker sends its newest at once. */
  readonly wantsLatest: boolean;
}

export type HintMessage =
  | { readonly type: "jobs"; readonly jobs: readonly JobHint[] }
  | { readonly type: "progress"; readonly progress: LiveProgress }
  | WatchedJobs
  | { readonly type: "cancel"; readonly jobId: string }
  /** The lease of a server began or ended. */
  | { readonly type: "server"; readonly url: string };

/** Publish and subscribe between processes: Redis, or NOTIFY of PostgreSQL outside of the jobs' transactions. */
export interface Hints {
  publish(message: HintMessage): void;
  /** All messages but progress, which travels apart: only web processes need it, and previews are large. */
  subscribe(listener: (message: HintMessage) => void): () => void;
  subscribeProgress(listener: (progress: LiveProgress) => void): () => void;
  close(): Promise<void>;
}

export { createBells } from "./bells.ts";
export { createHints } from "./hints.ts";

/**
 * Queue: messages between processes, over Redis or PostgreSQL. It carries no state: every message may be lost, come
 * twice or come late, and the database then gives the answer.
 *
 * Terms. Bell: invites the nodes of a queue to claim; it travels through BullMQ. Hint: reports after a commit which
 * jobs or runs of the assistant changed, what a user stopped, and the like. Live: figures and previews of running jobs and
 * the words of answers, never stored here.
 *
 * Rules. Never put the data of a job into a bell, and never decide by a message what the row can answer. Publish only
 * after the commit. A backend that is away must not delay a submit or the end of a process.
 */

import type { Env } from "../platform/index.ts";

/** The backend of bells and hints: Redis when it is configured, else PostgreSQL. */
export type QueueConnection =
  | { readonly backend: "redis"; readonly url: string }
  | { readonly backend: "postgres"; readonly url: string };

/** Chooses the backend from the environment; behind a pooler LISTEN needs the direct address. */
export function queueConnection(
  env: Pick<Env, "REDIS_URL" | "DATABASE_DIRECT_URL">,
  databaseUrl: string,
): QueueConnection {
  if (env.REDIS_URL) return { backend: "redis", url: env.REDIS_URL };
  return { backend: "postgres", url: env.DATABASE_DIRECT_URL ?? databaseUrl };
}

/** Receives errors of connections that reconnect by themselves; they are logged, not thrown. */
export type OnConnectionError = (error: Error) => void;

/** Invites the nodes of a queue to claim. It names the job that caused it; a node may claim another one. */
export interface Bell {
  readonly jobId: string;
  readonly attempt: number;
  readonly ring: number;
}

/** A node's subscription to one queue. */
export interface BellConsumer {
  /** Changes the number of simultaneous bells; at least 1. */
  setSlots(slots: number): void;
  /** Takes no new bells; resolves when the current ones are done. */
  close(): Promise<void>;
}

export interface Bells {
  /** Sends each bell once; the sweep repeats lost ones. */
  ring(queue: string, bells: readonly Bell[]): Promise<void>;
  /** Calls `onBell` for each bell, at most `slots` at once. */
  consume(queue: string, slots: number, onBell: (bell: Bell) => Promise<void>): BellConsumer;
  /** Throws when the backend cannot be reached or takes no writes. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A changed job, published after the commit. A lost hint costs at most one second. */
export interface JobHint {
  readonly ownerId: string;
  readonly jobId: string;
  readonly revision: number;
}

/** A run of the assistant that has another status or another state of a proposal, published after the commit. */
interface RunHint {
  readonly type: "run";
  readonly runId: string;
  readonly ownerId: string;
  /** Null when it has not changed. */
  readonly status: string | null;
}

/** The next words of an answer that is being written. */
export interface AnswerWords {
  readonly runId: string;
  readonly attempt: number;
  /** Characters of the answer before these. */
  readonly at: number;
  readonly text: string;
}

/** Progress between two revisions. It names no owner, since the owner changes when a guest signs in; the receiver looks it up. */
export interface LiveProgress {
  readonly jobId: string;
  readonly attempt: number;
  readonly progress: number;
  readonly stage: string;
  /** Base64 of a small JPEG; missing while the last one is still the newest. */
  readonly preview?: string;
}

/** Running jobs that a web process shows; it repeats the message while it shows them. */
interface WatchedJobs {
  readonly type: "watched";
  readonly jobIds: readonly string[];
  /** The web process has no live progress of these jobs yet; workers send the newest at once. */
  readonly wantsLatest: boolean;
}

export type HintMessage =
  | { readonly type: "jobs"; readonly jobs: readonly JobHint[] }
  | RunHint
  | WatchedJobs
  | { readonly type: "cancel"; readonly jobId: string }
  /** The user asked to end an answer. */
  | { readonly type: "stop"; readonly runId: string }
  /** The lease of a server began or ended. */
  | { readonly type: "server"; readonly url: string };

/** What web processes alone need. It has its own channel, since there is much of it and previews are large. */
export type LiveMessage =
  | { readonly type: "progress"; readonly progress: LiveProgress }
  | { readonly type: "answer"; readonly words: AnswerWords };

/** Publish and subscribe between processes, over Redis or NOTIFY of PostgreSQL outside of transactions. */
export interface Hints {
  publish(message: HintMessage | LiveMessage): void;
  subscribe(listener: (message: HintMessage) => void): () => void;
  /** `onHeard` is called each time messages begin to arrive, at first and after a lost connection: those before are lost. */
  subscribeLive(listener: (message: LiveMessage) => void, onHeard?: () => void): () => void;
  /** Tells this process alone, and at once, which jobs it has completed or failed. */
  tellEnded(jobIds: readonly string[]): void;
  onEnded(listener: (jobIds: readonly string[]) => void): () => void;
  close(): Promise<void>;
}

export { createBells } from "./bells.ts";
export {
  findUnusableRedis,
  lacksCommand,
  readInfo,
  type RedisKind,
  refusalWord,
  refusesScripts,
  undeclaringScript,
  sentenceOfRefusal,
  whyNoDatabase,
  whyUnusable,
} from "./redis-faults.ts";
export { createHints } from "./hints.ts";

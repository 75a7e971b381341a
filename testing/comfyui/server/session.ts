import type { WebSocket } from "ws";
import type { FaultBox } from "../faults.ts";
import type { Files } from "../files.ts";
import type { Graph } from "../graph/classes.ts";
import type { Value } from "../nodes/call.ts";
import type { JsonObject, SettledOptions } from "../options.ts";
import { type Ledger, note } from "./stats.ts";

/** A prompt in the line. */
export interface QueueItem {
  readonly number: number;
  readonly promptId: string;
  readonly clientId: string | null;
  readonly graph: Graph;
  readonly extraData: JsonObject;
  readonly outputs: readonly string[];
  /** Aborted by an interrupt; looked at only between nodes and sampler steps. */
  readonly interrupt: AbortController;
}

export type HistoryMessage = readonly [event: string, data: JsonObject];

export interface HistoryEntry {
  readonly item: QueueItem;
  readonly outputs: Record<string, JsonObject>;
  readonly status: { status_str: "success" | "error"; completed: boolean; messages: HistoryMessage[] };
  readonly meta: Record<string, JsonObject>;
  /** Answers are empty before this moment. */
  readonly visibleAt: number;
}

/** The result of a node that may be used again. */
export interface CachedNode {
  readonly values: readonly Value[];
  readonly ui: JsonObject | null;
}

export interface Client {
  readonly socket: WebSocket;
  supportsPreviewMetadata: boolean;
}

/** What a restart loses. */
export interface Session {
  counter: number;
  running: QueueItem | null;
  readonly pending: QueueItem[];
  readonly history: Map<string, HistoryEntry>;
  /** By signature; only what the last prompt used. */
  cache: Map<string, CachedNode>;
  readonly clients: Map<string, Client>;
  /** Clients whose next sockets are refused. */
  readonly refusedClients: Set<string>;
  currentNode: string | null;
  /** By node: the letters in the names of its temp files. */
  readonly tempLetters: Map<string, { classType: string; letters: string }>;
  /** Runs as long as the line moves. */
  pump: Promise<void> | null;
  readonly end: AbortController;
}

export function openSession(): Session {
  return {
    counter: 0,
    running: null,
    pending: [],
    history: new Map(),
    cache: new Map(),
    clients: new Map(),
    refusedClients: new Set(),
    currentNode: null,
    tempLetters: new Map(),
    pump: null,
    end: new AbortController(),
  };
}

/** Running and waiting prompts. */
export function queueRemaining(session: Session): number {
  return session.pending.length + (session.running ? 1 : 0);
}

/** A simulated server: what stays over a restart, and the session that does not. */
export interface Comfy {
  readonly options: SettledOptions;
  readonly files: Files;
  readonly faults: FaultBox;
  readonly ledger: Ledger;
  models: SettledOptions["models"];
  missingClasses: ReadonlySet<string>;
  session: Session;
  /** Ends the wait of each held node. */
  readonly held: Set<() => void>;
  /** How often held nodes were let go on. */
  releases: number;
}

/** Loses queue, history and cache, as a restart does; files stay but those in temp. */
export async function endSession(comfy: Comfy): Promise<void> {
  const { session, ledger } = comfy;
  for (const item of [session.running, ...session.pending]) if (item) note(ledger, item.promptId, "lost");
  session.end.abort();
  for (const { socket } of session.clients.values()) socket.terminate();
  comfy.files.clear("temp");
  comfy.faults.restart();
  ledger.counts.restarts += 1;
  comfy.session = openSession();
  // What is half done may still write a file: afterwards nothing does.
  await session.pump;
}

import type { ComfyServer, PromptGraph } from "./http.ts";
import {
  keepSocket,
  type KeptSocket,
  parseEvent,
  parsePreview,
  type PreviewFrame,
  type PromptEvent,
} from "./socket.ts";

type OnProgress = (fraction: number, nodeClass: string) => void;

export interface WatchInput {
  readonly graph: PromptGraph;
  readonly promptId: string;
  /** Used for this prompt only; the socket still gets events of other prompts. */
  readonly clientId: string;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  /** Called once, when the prompt is first seen running; before that it waits in the server's queue. */
  readonly onBegin?: () => void;
  /** Gets the JPEG or PNG of the server, unchanged. */
  readonly onPreview: (bytes: Uint8Array) => void;
}

/** Least time between two previews. */
const previewIntervalMs = 200;
/** Without an event of the prompt for this long, the caller asks the server: a missed end is found within 3 s. */
const silenceMs = 2_000;
/** The same limit while the socket is closed. */
const closedSilenceMs = 1_000;

/** Follows one prompt by socket events, from before the post until `close`. */
export class PromptWatch {
  readonly #filter: PromptFilter;
  readonly #waker: Waker;
  readonly #socket: KeptSocket;
  readonly #onEvent: (event: PromptEvent) => void;
  readonly #onPreview: (bytes: Uint8Array) => void;
  #onBegin: (() => void) | undefined;
  /** Time of the last event or preview of the prompt. */
  #lastEventMs = performance.now();
  #hasEnded = false;
  #hasBroken = false;

  constructor(server: ComfyServer, input: WatchInput) {
    this.#filter = createPromptFilter(input.promptId);
    this.#waker = createWaker(input.signal);
    this.#onEvent = createProgress(input.graph, input.onProgress);
    this.#onBegin = input.onBegin;
    this.#onPreview = limitRate(previewIntervalMs, input.onPreview);
    this.#socket = keepSocket(server, input.clientId, {
      onText: (text) => this.#readEvent(text),
      onBinary: (bytes) => this.#readPreview(bytes),
      onClose: () => {
        this.#hasBroken = true;
        this.#filter.forget();
        this.#waker.wake();
      },
    });
  }

  /** Resolves when the socket is open or cannot be opened. */
  get settled(): Promise<void> {
    return this.#socket.settled;
  }

  /** Whether the socket reported the end; the history may have it a moment later. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves when there is a reason to ask the server: the end was reported, or the socket broke or is silent. */
  async quiet(): Promise<void> {
    while (!this.#hasEnded && !this.#hasBroken) {
      const patienceMs = this.#socket.isUp() ? silenceMs : closedSilenceMs;
      const leftMs = this.#lastEventMs + patienceMs - performance.now();
      if (leftMs <= 0) break;
      await this.#waker.wait(leftMs);
    }
    this.#lastEventMs = performance.now();
  }

  /** Returns and clears whether the socket broke since the last call. */
  takeBreak(): boolean {
    const hasBroken = this.#hasBroken;
    this.#hasBroken = false;
    return hasBroken;
  }

  /** Call when the prompt runs, as the socket or the server's queue reports; the first call runs `onBegin`. */
  noteBegin(): void {
    this.#onBegin?.();
    this.#onBegin = undefined;
  }

  close(): void {
    this.#socket.close();
  }

  #readEvent(text: string): void {
    const event = parseEvent(text);
    if (!event || !this.#filter.passesEvent(event)) return;
    this.#noteEvent();
    this.noteBegin();
    this.#onEvent(event);
    if (!isEnd(event)) return;
    this.#hasEnded = true;
    this.#waker.wake();
  }

  #readPreview(bytes: Buffer): void {
    const frame = parsePreview(bytes);
    if (!frame || !this.#filter.passesPreview(frame)) return;
    this.#noteEvent();
    this.#onPreview(frame.bytes);
  }

  #noteEvent(): void {
    this.#lastEventMs = performance.now();
    this.#socket.markHealthy();
  }
}

/** Decides which frames of a socket belong to one prompt. */
interface PromptFilter {
  passesEvent(event: PromptEvent): boolean;
  passesPreview(frame: PreviewFrame): boolean;
  /** Call when the socket broke: frames without an id may belong to another prompt from now on. */
  forget(): void;
}

/**
 * Servers send previews and steps of prompts without a client to every socket, some of them without a prompt id. A server
 * executes one prompt at a time, so frames without an id belong to this prompt only while it is executed.
 */
export function createPromptFilter(promptId: string): PromptFilter {
  let isExecuting = false;
  let namesPreviews = false;
  return {
    passesEvent(event) {
      if (event.type === "feature_flags") {
        namesPreviews ||= event.data.supports_preview_metadata === true;
        return false;
      }
      const named = event.data.prompt_id;
      if (named ? named !== promptId : !isExecuting && !isGreeting(event)) return false;
      isExecuting = !isEnd(event);
      return true;
    },
    passesPreview: ({ promptId: named }) => (named ? named === promptId : isExecuting && !namesPreviews),
    forget() {
      isExecuting = false;
    },
  };
}

/** Whether the event reports the end of its prompt. */
function isEnd(event: PromptEvent): boolean {
  return event.type === "executing" ? event.data.node === null : event.type === "execution_end";
}

/** A new socket first gets the current node of its client's prompt, without a prompt id. */
function isGreeting(event: PromptEvent): boolean {
  return event.type === "executing" && event.data.node !== null;
}

/** Rough share of the run time by node class: samplers take most of it, loaders and codecs some. */
const weights: readonly (readonly [RegExp, number])[] = [
  [/^KSampler|^SamplerCustom/, 40],
  [/UpscaleWithModel/, 20],
  [/Loader/, 4],
  [/^VAE|TextEncode/, 3],
];
const minWeight = 0.5;

/** Below 1, because the files must still be fetched after the last event. */
const maxFraction = 0.99;
const minFractionStep = 0.005;
/** Stands for a missing node id; no node has this id, so its share is ignored. */
const noNode = "";

/** Combines the events into one fraction that never falls, with the class of the running node. */
export function createProgress(graph: PromptGraph, onProgress: OnProgress): (event: PromptEvent) => void {
  const shares = new Map<string, number>();
  const total = Object.keys(graph).reduce((sum, id) => sum + weightOf(graph, id), 0);
  let current: string | null = null;
  let sent: { fraction: number; node: string | null } = { fraction: -1, node: null };

  const raise = (id: string, share: number) => {
    // Some servers send a maximum of 0.
    if (id in graph && Number.isFinite(share))
      shares.set(id, Math.max(shares.get(id) ?? 0, Math.min(1, share)));
  };
  return (event) => {
    for (const [id, share] of sharesIn(event, current)) raise(id, share);
    if (event.type === "executing") current = event.data.node;
    if (current === null) return;
    const done = [...shares].reduce((sum, [id, share]) => sum + share * weightOf(graph, id), 0);
    const fraction = Math.max(sent.fraction, Math.min(maxFraction, done / total));
    if (current === sent.node && fraction - sent.fraction < minFractionStep) return;
    sent = { fraction, node: current };
    onProgress(fraction, graph[current]?.class_type ?? "");
  };
}

/** The progress of nodes (0..1) that an event reports. When another node starts, the previous node is done. */
function sharesIn(event: PromptEvent, current: string | null): [id: string, share: number][] {
  switch (event.type) {
    case "execution_cached":
      return event.data.nodes.map((id) => [id, 1]);
    case "executing":
      return current === event.data.node ? [] : [[current ?? noNode, 1]];
    case "executed":
      return [[event.data.node, 1]];
    case "progress":
      return [[event.data.node ?? noNode, event.data.value / event.data.max]];
    case "progress_state":
      return Object.entries(event.data.nodes).map(([id, { state, value, max }]) => [
        id,
        state === "finished" ? 1 : value / max,
      ]);
    case "feature_flags":
    case "execution_start":
    case "execution_end":
      return [];
  }
}

function weightOf(graph: PromptGraph, id: string): number {
  const nodeClass = graph[id]?.class_type ?? "";
  return weights.find(([pattern]) => pattern.test(nodeClass))?.[1] ?? minWeight;
}

/** Passes at most one value per `intervalMs` and drops the others. */
export function limitRate<T>(
  intervalMs: number,
  pass: (value: T) => void,
  nowMs: () => number = () => performance.now(),
): (value: T) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (value) => {
    const now = nowMs();
    if (now < nextMs) return;
    nextMs = now + intervalMs;
    pass(value);
  };
}

/** Lets one caller wait until it is woken. */
interface Waker {
  wake(): void;
  /** Resolves at the next `wake` or after `ms`. Rejects with the signal's reason on abort. */
  wait(ms: number): Promise<void>;
}

function createWaker(signal: AbortSignal): Waker {
  let wake = () => {};
  return {
    wake: () => wake(),
    async wait(ms) {
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      const wakeThis = () => resolve();
      wake = wakeThis;
      const timer = setTimeout(wakeThis, ms);
      signal.addEventListener("abort", wakeThis);
      await promise;
      signal.removeEventListener("abort", wakeThis);
      clearTimeout(timer);
      signal.throwIfAborted();
    },
  };
}

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
  /** Used for this prompt only; the socket tells of other prompts all the same. */
  readonly clientId: string;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  /** Called once, when the prompt is first seen at work: before that it stands in the server's own line. */
  readonly onBegin?: () => void;
  /** JPEG or PNG as the server sent it. */
  readonly onPreview: (bytes: Uint8Array) => void;
}

/** Five previews a second. */
const previewMs = 200;
/** Without a word about the prompt for this long, the server is asked: an end that was not told is seen within 3 s. */
const silenceMs = 2_000;
/** The same without a socket. */
const deafMs = 1_000;

/** What the socket hints about one prompt, from before it is posted until `close`. */
export class PromptWatch {
  readonly #filter: PromptFilter;
  readonly #waker: Waker;
  readonly #socket: KeptSocket;
  readonly #onEvent: (event: PromptEvent) => void;
  readonly #onPreview: (bytes: Uint8Array) => void;
  #onBegin: (() => void) | undefined;
  #heardMs = performance.now();
  #hasEnded = false;
  #hasBroken = false;

  constructor(server: ComfyServer, input: WatchInput) {
    this.#filter = createPromptFilter(input.promptId);
    this.#waker = createWaker(input.signal);
    this.#onEvent = createProgress(input.graph, input.onProgress);
    this.#onBegin = input.onBegin;
    this.#onPreview = limitRate(previewMs, input.onPreview);
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

  /** Whether the socket told the end; the history may follow it by a moment. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves when there is a reason to ask the server: the end was told, the socket broke or is silent. */
  async quiet(): Promise<void> {
    while (!this.#hasEnded && !this.#hasBroken) {
      const patienceMs = this.#socket.isUp() ? silenceMs : deafMs;
      const leftMs = this.#heardMs + patienceMs - performance.now();
      if (leftMs <= 0) break;
      await this.#waker.wait(leftMs);
    }
    this.#heardMs = performance.now();
  }

  /** Whether the socket broke since this was asked last. */
  takeBreak(): boolean {
    const hasBroken = this.#hasBroken;
    this.#hasBroken = false;
    return hasBroken;
  }

  /** The prompt is at work, as its socket or the server's queue says. */
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
    this.#noteLife();
    this.noteBegin();
    this.#onEvent(event);
    if (!isEnd(event)) return;
    this.#hasEnded = true;
    this.#waker.wake();
  }

  #readPreview(bytes: Buffer): void {
    const frame = parsePreview(bytes);
    if (!frame || !this.#filter.passesPreview(frame)) return;
    this.#noteLife();
    this.#onPreview(frame.bytes);
  }

  #noteLife(): void {
    this.#heardMs = performance.now();
    this.#socket.markHealthy();
  }
}

/** Tells which frames of a socket are about one prompt. */
interface PromptFilter {
  passesEvent(event: PromptEvent): boolean;
  passesPreview(frame: PreviewFrame): boolean;
  /** The socket broke: what it says next may be about any prompt. */
  forget(): void;
}

/**
 * Servers send the pictures and steps of prompts that were posted without a client to every socket, and some of them name
 * no prompt. A server executes one prompt at a time: such frames are ours only while ours is executed.
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

/** Whether the server told that the prompt of the event is done. */
function isEnd(event: PromptEvent): boolean {
  return event.type === "executing" ? event.data.node === null : event.type === "execution_end";
}

/** A new socket is told without an id what its own client's prompt is at. */
function isGreeting(event: PromptEvent): boolean {
  return event.type === "executing" && event.data.node !== null;
}

/** How much of a run's time nodes take, roughly: samplers most of it, loaders and codecs some. */
const weights: readonly (readonly [RegExp, number])[] = [
  [/^KSampler|^SamplerCustom/, 40],
  [/UpscaleWithModel/, 20],
  [/Loader/, 4],
  [/^VAE|TextEncode/, 3],
];
const leastWeight = 0.5;

/** Fractions below 1 only: it is done when its files are here. */
const mostFraction = 0.99;
const leastStep = 0.005;
/** No node's id. */
const none = "";

/** Adds up what events say into one fraction that never falls; tells the class of the node that works. */
export function createProgress(graph: PromptGraph, onProgress: OnProgress): (event: PromptEvent) => void {
  const shares = new Map<string, number>();
  const total = Object.keys(graph).reduce((sum, id) => sum + weightOf(graph, id), 0);
  let current: string | null = null;
  let told: { fraction: number; node: string | null } = { fraction: -1, node: null };

  const raise = (id: string, share: number) => {
    // Servers send a maximum of 0 now and then.
    if (id in graph && Number.isFinite(share))
      shares.set(id, Math.max(shares.get(id) ?? 0, Math.min(1, share)));
  };
  return (event) => {
    for (const [id, share] of sharesIn(event, current)) raise(id, share);
    if (event.type === "executing") current = event.data.node;
    if (current === null) return;
    const done = [...shares].reduce((sum, [id, share]) => sum + share * weightOf(graph, id), 0);
    const fraction = Math.max(told.fraction, Math.min(mostFraction, done / total));
    if (current === told.node && fraction - told.fraction < leastStep) return;
    told = { fraction, node: current };
    onProgress(fraction, graph[current]?.class_type ?? "");
  };
}

/** How far nodes are, 0..1. That another node works now means that the one before is done. */
function sharesIn(event: PromptEvent, current: string | null): [id: string, share: number][] {
  switch (event.type) {
    case "execution_cached":
      return event.data.nodes.map((id) => [id, 1]);
    case "executing":
      return current === event.data.node ? [] : [[current ?? none, 1]];
    case "executed":
      return [[event.data.node, 1]];
    case "progress":
      return [[event.data.node ?? none, event.data.value / event.data.max]];
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
  return weights.find(([pattern]) => pattern.test(nodeClass))?.[1] ?? leastWeight;
}

/** Passes on at most one value per `intervalMs`; those between are dropped. */
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

/** Wakes one waiter. */
interface Waker {
  wake(): void;
  /** Until the next ring or the time is over. Rejects with the signal's reason when it aborts. */
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

import type { ComfyServer, PromptGraph } from "./comfy-server.ts";
import { createBell, type Bell } from "./create-bell.ts";
import { createProgress, type OnProgress } from "./create-progress.ts";
import { createSieve, isEnd, type Sieve } from "./create-sieve.ts";
import { keepSocket, type KeptSocket } from "./keep-socket.ts";
import { limitRate } from "./limit-rate.ts";
import { parseEvent, type PromptEvent } from "./parse-event.ts";
import { parsePreview } from "./parse-preview.ts";

/** Five previews a second. */
const previewMs = 200;
/** Without a word about the prompt for this long, the server is asked: an end that was not told is seen within 3 s. */
const silenceMs = 2_000;
/** The same without a socket. */
const deafMs = 1_000;

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

/** What the socket hints about one prompt, from before it is posted until `close`. */
export class PromptWatch {
  readonly #sieve: Sieve;
  readonly #bell: Bell;
  readonly #socket: KeptSocket;
  readonly #onEvent: (event: PromptEvent) => void;
  readonly #onPreview: (bytes: Uint8Array) => void;
  #onBegin: (() => void) | undefined;
  #heardMs = performance.now();
  #hasEnded = false;
  #hasBroken = false;

  constructor(server: ComfyServer, input: WatchInput) {
    this.#sieve = createSieve(input.promptId);
    this.#bell = createBell(input.signal);
    this.#onEvent = createProgress(input.graph, input.onProgress);
    this.#onBegin = input.onBegin;
    this.#onPreview = limitRate(previewMs, input.onPreview);
    this.#socket = keepSocket(server, input.clientId, {
      onText: (text) => this.#readEvent(text),
      onBinary: (bytes) => this.#readPreview(bytes),
      onClose: () => {
        this.#hasBroken = true;
        this.#sieve.forget();
        this.#bell.ring();
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
      await this.#bell.wait(leftMs);
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
    if (!event || !this.#sieve.passesEvent(event)) return;
    this.#noteLife();
    this.noteBegin();
    this.#onEvent(event);
    if (!isEnd(event)) return;
    this.#hasEnded = true;
    this.#bell.ring();
  }

  #readPreview(bytes: Buffer): void {
    const frame = parsePreview(bytes);
    if (!frame || !this.#sieve.passesPreview(frame)) return;
    this.#noteLife();
    this.#onPreview(frame.bytes);
  }

  #noteLife(): void {
    this.#heardMs = performance.now();
    this.#socket.praise();
  }
}

import type { JsonObject } from "../options.ts";
import type { Frame } from "../pictures.ts";
import type { Comfy, QueueItem } from "../server/session.ts";
import type { Preview } from "../socket.ts";

export interface LatentValue {
  readonly kind: "latent";
  readonly widthPx: number;
  readonly heightPx: number;
  readonly count: number;
  /** What was encoded or painted; null for an empty one. */
  readonly pixels: readonly Frame[] | null;
  /** 255 where the sampler may paint; null is everywhere. */
  readonly mask: Frame | null;
}

/** What goes over a link. Models, text encoders and conditionings are told apart by their signatures only. */
export type Value =
  | { readonly kind: "image"; readonly frames: readonly Frame[] }
  | { readonly kind: "mask"; readonly frames: readonly Frame[] }
  | LatentValue
  | { readonly kind: "sigmas"; readonly steps: number; readonly denoise: number }
  | { readonly kind: "number"; readonly value: number }
  | {
      readonly kind: "box";
      readonly left: number;
      readonly top: number;
      readonly width: number;
      readonly height: number;
    }
  | { readonly kind: "model"; readonly file: string }
  | { readonly kind: "opaque"; readonly type: string };

export function image(frames: readonly Frame[]): Value {
  return { kind: "image", frames };
}

export function mask(frames: readonly Frame[]): Value {
  return { kind: "mask", frames };
}

/** The inputs of one node, read by type; a missing one throws TypeError as Python would. */
interface Inputs {
  number(name: string): number;
  text(name: string): string;
  flag(name: string): boolean;
  image(name: string): readonly Frame[];
  mask(name: string): readonly Frame[];
  latent(name: string): LatentValue;
  optional(name: string): Value | null;
}

/** `links` holds the values that arrived over links, `literals` the rest. */
export function readInputs(literals: JsonObject, links: ReadonlyMap<string, Value>): Inputs {
  const optional = (name: string) => links.get(name) ?? null;
  const wrong = (name: string) => new TypeError(`missing 1 required positional argument: '${name}'`);
  const linked = <K extends Value["kind"]>(name: string, kind: K): Extract<Value, { kind: K }> => {
    const value = links.get(name);
    if (!value || !isKind(value, kind)) throw wrong(name);
    return value;
  };
  return {
    optional,
    number: (name) => {
      const value = links.get(name);
      if (value?.kind === "number") return value.value;
      const literal = literals[name];
      if (typeof literal !== "number") throw wrong(name);
      return literal;
    },
    text: (name) => (typeof literals[name] === "string" ? literals[name] : ""),
    flag: (name) => literals[name] === true,
    image: (name) => linked(name, "image").frames,
    mask: (name) => linked(name, "mask").frames,
    latent: (name) => linked(name, "latent"),
  };
}

function isKind<K extends Value["kind"]>(value: Value, kind: K): value is Extract<Value, { kind: K }> {
  return value.kind === kind;
}

/** One node that is being executed. */
export interface NodeCall {
  readonly comfy: Comfy;
  readonly item: QueueItem;
  readonly nodeId: string;
  readonly classType: string;
  /** Hash of the class and all that goes in: same signature, same result. */
  readonly signature: string;
  readonly inputs: Inputs;
  readonly arePreviewsOn: boolean;
  /** Waits one sampler step of time; hangs and cuts sockets when a fault says so. */
  step(): Promise<void>;
  /** Tells the client; throws Interrupted when the prompt was interrupted. */
  progress(value: number, max: number, preview?: Preview): Promise<void>;
  /** Shows a text below the node. */
  say(text: string): void;
}

export interface NodeResult {
  readonly values: readonly Value[];
  /** What `executed` shows; only output nodes have it. */
  readonly ui?: JsonObject;
}

export type NodeRunner = (call: NodeCall) => Promise<NodeResult> | NodeResult;

/** A node whose one result is a picture made frame by frame from its input "image". */
export function perFrame(change: (frame: Frame, call: NodeCall) => Promise<Frame> | Frame): NodeRunner {
  return async (call) => {
    const frames: Frame[] = [];
    for (const frame of call.inputs.image("image")) frames.push(await change(frame, call));
    return { values: [{ kind: "image", frames }] };
  };
}

/** What a node raises: ends the prompt with `execution_error`. */
export class NodeFailure extends Error {
  readonly exceptionType: string;

  constructor(exceptionType: string, message: string) {
    super(message);
    this.exceptionType = exceptionType;
  }
}

/** The prompt was interrupted. */
export class Interrupted extends Error {}

/** The server restarted under the prompt: nobody is told. */
export class SessionEnded extends Error {}

/** What a card says that is full. */
export function gpuOutOfMemory(): NodeFailure {
  const torch =
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 512.00 MiB is free.";
  const tip =
    "This error means you ran out of memory on your GPU.\n\nTIPS: If the workflow worked before you might have accidentally set the batch_size to a large number.";
  return new NodeFailure("torch.OutOfMemoryError", `${torch}\n${tip}`);
}

/** What a server without a card says when it cannot get this much. */
export function cpuOutOfMemory(sizeBytes: number): NodeFailure {
  const place = "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory:";
  const tried = `you tried to allocate ${sizeBytes} bytes. Error code 12 (Cannot allocate memory)`;
  return new NodeFailure("RuntimeError", `${place} ${tried}`);
}

export function diskFull(path: string): NodeFailure {
  return new NodeFailure("OSError", `[Errno 28] No space left on device: '${path}'`);
}

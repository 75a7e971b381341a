import { readFileSync } from "node:fs";
import sharp from "sharp";
import type { JsonObject } from "../options.ts";

/** One part of the recorded traffic of a real ComfyUI 0.8.0: what its socket and its HTTP side said. */
export interface RecordedPart {
  readonly title: string;
  readonly socket: readonly unknown[];
  readonly notes: readonly unknown[];
}

const recording = new URL("../fixtures/recorded-0.8.0.jsonl", import.meta.url);

/** The parts by title, in order. */
export function readRecording(): RecordedPart[] {
  const parts: { title: string; socket: unknown[]; notes: unknown[] }[] = [];
  let part = { title: "connect", socket: [] as unknown[], notes: [] as unknown[] };
  parts.push(part);
  for (const line of readFileSync(recording, "utf8").trim().split("\n")) {
    const entry: unknown = JSON.parse(line);
    const [seconds, content] = Array.isArray(entry) ? entry : [null, null];
    if (seconds !== null) {
      part.socket.push(content);
    } else if (typeof content === "string" && content.startsWith("=== ")) {
      part = { title: content.slice("=== ".length), socket: [], notes: [] };
      parts.push(part);
    } else {
      part.notes.push(content);
    }
  }
  return parts;
}

/** The part with this title; throws when it was not recorded. */
export function recordedPart(title: string): RecordedPart {
  const part = readRecording().find((found) => found.title === title);
  if (!part) throw new Error(`nothing was recorded under "${title}"`);
  return part;
}

/** The note of a part whose first member is this text. */
export function noteOf(part: RecordedPart, label: string): unknown[] {
  const note = part.notes.find((found) => Array.isArray(found) && found[0] === label);
  if (!Array.isArray(note)) throw new Error(`nothing was recorded as "${label}" under "${part.title}"`);
  return note.slice(1);
}

type Nodes = Record<string, { class_type?: string; inputs: JsonObject }>;

/** The graph of the recording's first job, with nodes replaced. */
export function recordedGraph(replaced: Nodes = {}): Nodes {
  return {
    "1": { class_type: "LoadImage", inputs: { image: "a.png" } },
    "2": {
      class_type: "ImageScale",
      inputs: { image: ["1", 0], upscale_method: "lanczos", width: 128, height: 96, crop: "disabled" },
    },
    "3": { class_type: "ImageBlur", inputs: { image: ["2", 0], blur_radius: 3, sigma: 1 } },
    "4": { class_type: "SaveImage", inputs: { images: ["3", 0], filename_prefix: "job1/out" } },
    "5": { class_type: "PreviewImage", inputs: { images: ["3", 0] } },
    ...replaced,
  };
}

/** A graph with a node in the middle that takes its time. */
export function slowGraph(color: number): Nodes {
  const blur = { blur_radius: 31, sigma: 10 };
  return {
    "1": { class_type: "EmptyImage", inputs: { width: 64, height: 64, batch_size: 1, color } },
    "2": { class_type: "ImageBlur", inputs: { image: ["1", 0], ...blur } },
    "3": { class_type: "ImageBlur", inputs: { image: ["2", 0], ...blur } },
    "20": { class_type: "PreviewImage", inputs: { images: ["3", 0] } },
  };
}

/** Three pictures over the socket. */
export function socketGraph(color: number): Nodes {
  return {
    "1": { class_type: "EmptyImage", inputs: { width: 64, height: 64, batch_size: 3, color } },
    save: { class_type: "SaveImageWebsocket", inputs: { images: ["1", 0] } },
  };
}

/** A PNG of one colour. */
export function plainPng(background: string, { width = 64, height = 48 } = {}): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}

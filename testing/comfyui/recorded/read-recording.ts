import { readFileSync } from "node:fs";

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

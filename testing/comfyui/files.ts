import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

export type Place = "input" | "output" | "temp";

const places: readonly string[] = ["input", "output", "temp"];

export function isPlace(text: string): text is Place {
  return places.includes(text);
}

export interface FileName {
  readonly place: Place;
  readonly subfolder: string;
  readonly name: string;
}

/** The server's files: input, output and temp below one folder. */
export interface Files {
  /** Full path; null when the name leads out of its place. */
  locate(file: FileName): string | null;
  read(file: FileName): Buffer | null;
  write(file: FileName, bytes: Uint8Array): void;
  modifiedAt(file: FileName): Date;
  /** Whether the file can be written: its subfolder is made, a folder within its name is not. */
  hasFolderOf(file: FileName): boolean;
  /** Names of the pictures in the top folder of a place. */
  names(place: Place, subfolder?: string): string[];
  /** Place of "name", "sub/name" or "name [output]"; null when there is none. */
  findAnnotated(text: string): FileName | null;
  clear(place: Place): void;
}

/** Opens the folder of a simulated server; temp starts empty as on the real one. */
export function openFiles(root: string): Files {
  for (const place of places) mkdirSync(path.join(root, place), { recursive: true });
  const locate = ({ place, subfolder, name }: FileName) => {
    const top = path.join(root, place);
    const full = path.resolve(top, subfolder, name);
    return full.startsWith(top + path.sep) ? full : null;
  };
  const has = (file: FileName) => {
    const full = locate(file);
    return full !== null && (statSync(full, { throwIfNoEntry: false })?.isFile() ?? false);
  };
  const read = (file: FileName) => {
    const full = locate(file);
    return full && has(file) ? readFileSync(full) : null;
  };
  return {
    locate,
    read,
    write: (file, bytes) => {
      const full = locate(file);
      if (!full) throw new Error("Saving image outside the output folder is not allowed.");
      mkdirSync(path.dirname(full), { recursive: true });
      writeFileSync(full, bytes);
    },
    modifiedAt: (file) => statSync(locate(file) ?? "", { throwIfNoEntry: false })?.mtime ?? new Date(0),
    hasFolderOf: ({ place, subfolder, name }) =>
      !name.includes("/") || existsSync(path.dirname(path.resolve(root, place, subfolder, name))),
    names: (place, subfolder = "") => listNames(path.join(root, place, subfolder)),
    findAnnotated: (text) => {
      const file = parseAnnotated(text);
      return has(file) ? file : null;
    },
    clear: (place) => {
      rmSync(path.join(root, place), { recursive: true, force: true });
      mkdirSync(path.join(root, place), { recursive: true });
    },
  };
}

function listNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .toSorted();
}

function parseAnnotated(text: string): FileName {
  const [, bare = text, word = "input"] = /^(.*) \[(input|output|temp)\]$/.exec(text) ?? [];
  const place = isPlace(word) ? word : "input";
  return { place, subfolder: path.posix.dirname(bare), name: path.posix.basename(bare) };
}

/** SHA-256 of the bytes in hex. */
export function hashOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

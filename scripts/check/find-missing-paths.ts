import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export interface MissingPath {
  readonly document: string;
  readonly line: number;
  readonly path: string;
}

const fileEnding = /\.(ts|tsx|mjs|json|sql|ya?ml|md|css)$/;
const pathShape = /^\.?[\w@()[\]-][\w@()[\].-]*(\/[\w@()[\].-]+)*\/?$/;

/** A text in backticks is a path when it begins with a folder of ours or ends like a source file. */
function looksLikePath(text: string, folders: ReadonlySet<string>): boolean {
  if (!pathShape.test(text)) return false;
  const [first = ""] = text.split("/");
  return (text.includes("/") && folders.has(first)) || fileEnding.test(text);
}

/** What a line names: paths of the repository in backticks, and the targets of links and pictures beside the document. */
function pathsIn(text: string, document: string, folders: ReadonlySet<string>): string[] {
  const quoted = [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);
  const linked = [...text.matchAll(/\]\(([^)\s:#]+)\)/g)].map(([, name = ""]) => name);
  return [
    ...quoted.filter((name) => looksLikePath(name, folders)),
    ...linked.map((name) => path.join(path.dirname(document), name)),
  ];
}

function findInDocument(rootDir: string, document: string, folders: ReadonlySet<string>): MissingPath[] {
  const lines = readFileSync(path.join(rootDir, document), "utf8").split("\n");
  return lines.flatMap((text, at) =>
    pathsIn(text, document, folders)
      .filter((named) => !existsSync(path.join(rootDir, named)))
      .map((named) => ({ document, line: at + 1, path: named })),
  );
}

/** Folders that builds and runs make: what is in them says nothing about a document. */
function readIgnored(rootDir: string): ReadonlySet<string> {
  const file = path.join(rootDir, ".gitignore");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return new Set(lines.filter((line) => line.endsWith("/")).map((line) => line.slice(0, -1)));
}

const roomParents = ["server", "worker"];

/**
 * Rooms, which are the folders of `server/` and `worker/` with TypeScript, that have no line in the table of
 * `docs/architecture.md`, or have it before a room that comes earlier.
 */
export function findUnlistedRooms(rootDir: string): string[] {
  const text = readFileSync(path.join(rootDir, "docs", "architecture.md"), "utf8");
  const listed = [...text.matchAll(/^\| `(\w+\/[\w-]+\/)`/gm)].map(([, room = ""]) => room);
  const rooms = roomParents
    .flatMap((parent) => globSync(`${parent}/*/**/*.ts`, { cwd: rootDir, exclude: ["**/node_modules"] }))
    .map((file) => `${file.split(path.sep).slice(0, 2).join("/")}/`);
  const places = [...new Set(rooms)].toSorted().map((room) => ({ room, at: listed.indexOf(room) }));
  return places.filter(({ at }, nth) => at < 0 || at < (places[nth - 1]?.at ?? 0)).map(({ room }) => room);
}

/** File paths that *.md and docs/*.md name in backticks or link to, and that are not there. */
export function findMissingPaths(rootDir: string): MissingPath[] {
  const entries = readdirSync(rootDir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const made = readIgnored(rootDir);
  const folders = new Set(entries.map(({ name }) => name).filter((name) => !made.has(name)));
  const documents = globSync(["*.md", "docs/*.md"], { cwd: rootDir });
  return documents.flatMap((document) => findInDocument(rootDir, document, folders));
}

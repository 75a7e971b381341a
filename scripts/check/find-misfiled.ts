import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export interface Misfiled {
  readonly file: string;
  readonly reason: string;
}

const maxLines = 300;
/** Below this a file needs a second importer, an importer in another folder, or a role as entry. */
const minLines = 80;

const skippedFolders = new Set([
  "node_modules",
  ".next",
  ".data",
  ".git",
  "testing",
  "e2e",
  "fixtures",
  "migrations",
]);
const noProduct = /(\.test\.tsx?|\.d\.ts)$/;
/** Files that something else than an import loads: pages, threads, child processes; and the doors of folders. */
const entry =
  /(^|\/|-)(index|main|page|layout|route|loading|error|not-found|global-error|thread|child)\.tsx?$/;

const staticImport = /\b(?:from|import)\s+"(\.[^"]+)"/g;
const dynamicImport = /\bimport\(\s*"(\.[^"]+)"/g;

interface Source {
  readonly file: string;
  readonly lines: number;
  readonly imports: readonly string[];
  readonly lazyImports: readonly string[];
}

function readSource(rootDir: string, file: string): Source {
  const text = readFileSync(path.join(rootDir, file), "utf8");
  const resolve = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, target = ""]) => path.join(path.dirname(file), target));
  return {
    file,
    lines: text.split("\n").length - 1,
    imports: resolve(staticImport),
    lazyImports: resolve(dynamicImport),
  };
}

/** A re-export by the folder's `index.ts` publishes a file, so the door counts as an importer from outside. */
function isFragment({ file, lines }: Source, sources: readonly Source[]): boolean {
  if (lines >= minLines || entry.test(file)) return false;
  if (sources.some(({ lazyImports }) => lazyImports.includes(file))) return false;
  const [importer, ...others] = sources.filter(({ imports }) => imports.includes(file));
  if (!importer || others.length > 0) return false;
  return path.dirname(importer.file) === path.dirname(file) && path.basename(importer.file) !== "index.ts";
}

/** Product files that break the rule of one topic per file: longer than 300 lines, or a fragment of their only importer. */
export function findMisfiled(rootDir: string): Misfiled[] {
  const files = globSync("**/*.{ts,tsx}", {
    cwd: rootDir,
    exclude: (name) => skippedFolders.has(path.basename(name)),
  });
  const sources = files.filter((file) => !noProduct.test(file)).map((file) => readSource(rootDir, file));
  const long = sources
    .filter(({ lines }) => lines > maxLines)
    .map(({ file, lines }) => ({ file, reason: `has ${lines} lines, more than ${maxLines}` }));
  const fragments = sources
    .filter((source) => isFragment(source, sources))
    .map(({ file, lines }) => ({ file, reason: `has ${lines} lines and one importer, in its own folder` }));
  return [...long, ...fragments].toSorted((a, b) => a.file.localeCompare(b.file));
}

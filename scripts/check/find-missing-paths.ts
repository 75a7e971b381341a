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

function findInDocument(rootDir: string, document: string, folders: ReadonlySet<string>): MissingPath[] {
  const lines = readFileSync(path.join(rootDir, document), "utf8").split("\n");
  return lines.flatMap((text, at) =>
    [...text.matchAll(/`([^`\s]+)`/g)]
      .map(([, quoted = ""]) => quoted)
      .filter((quoted) => looksLikePath(quoted, folders) && !existsSync(path.join(rootDir, quoted)))
      .map((quoted) => ({ document, line: at + 1, path: quoted })),
  );
}

/** File paths that README.md and docs/*.md name in backticks and that are not there. */
export function findMissingPaths(rootDir: string): MissingPath[] {
  const entries = readdirSync(rootDir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = new Set(entries.map(({ name }) => name).filter((name) => name !== "node_modules"));
  const documents = globSync(["README.md", "docs/*.md"], { cwd: rootDir });
  return documents.flatMap((document) => findInDocument(rootDir, document, folders));
}

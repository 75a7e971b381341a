import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { AppError, parseForeignJson, toAppError } from "../platform/index.ts";
import { builtInNames } from "./built-in.ts";
import { parseWorkflow } from "./parse.ts";
import type { Workflow } from "./workflow.ts";

export interface WorkflowProblem {
  readonly name: string;
  /** One line per fault. */
  readonly reason: string;
}

const maxFileBytes = 2_000_000;

async function readJson(file: string): Promise<unknown> {
  const name = path.basename(file);
  const facts = await stat(file).catch(() => null);
  if (!facts?.isFile()) throw new AppError("bad_request", `${name} is missing`);
  if (facts.size > maxFileBytes)
    throw new AppError("bad_request", `${name} is larger than ${maxFileBytes} bytes`);
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new AppError("bad_request", `${name} cannot be read`, { cause });
  });
  const parsed = parseForeignJson(text);
  if (parsed === undefined) throw new AppError("bad_request", `${name} is not valid JSON`);
  return parsed;
}

async function readWorkflow(dir: string): Promise<Workflow> {
  const name = path.basename(path.resolve(dir));
  if (builtInNames.has(name)) {
    throw new AppError("bad_request", "a built-in workflow has this name; give the folder another one");
  }
  const manifest = await readJson(path.join(dir, "workflow.json"));
  const graph = await readJson(path.join(dir, "graph.json"));
  return parseWorkflow({ name, manifest, graph, isBuiltIn: false });
}

/** Folders of systems and network drives: of git and others, of Synology and QNAP, of Windows, of archives of macOS, of ext4. */
const ofSystem = /^(?:[.@#$]|__MACOSX$|System Volume Information$|lost\+found$)/;

/** The folder itself when it is a workflow, else the folders in it. */
async function listFolders(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  if (entries.some(({ name }) => name === "workflow.json" || name === "graph.json")) return [dir];
  return entries
    .filter((entry) => !entry.isFile() && !ofSystem.test(entry.name))
    .map(({ name }) => path.join(dir, name))
    .toSorted();
}

function reasonOf(error: unknown): string {
  const { message, details } = toAppError(error);
  return Array.isArray(details?.problems) ? details.problems.join("\n") : message;
}

/**
 * Reads a folder of workflow folders, or one of them; a folder's name is the workflow's.
 * A bad one becomes a problem with its reason, the others are read. Never throws.
 */
export async function readWorkflowFolder(
  dir: string,
): Promise<{ workflows: Workflow[]; problems: WorkflowProblem[] }> {
  const workflows: Workflow[] = [];
  const problems: WorkflowProblem[] = [];
  const folders = await listFolders(dir).catch(() => {
    problems.push({ name: dir, reason: "the folder cannot be read" });
    return [];
  });
  for (const folder of folders) {
    try {
      workflows.push(await readWorkflow(folder));
    } catch (error) {
      problems.push({ name: path.basename(path.resolve(folder)), reason: reasonOf(error) });
    }
  }
  return { workflows, problems };
}

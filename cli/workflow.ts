import { inspectEnv, isAppError } from "@atelier/server/platform";
import {
  builtInWorkflows,
  checkWorkflow,
  noteWorkflow,
  type ObjectInfo,
  type ObjectInfoByClass,
  readWorkflowFolder,
  type Workflow,
} from "@atelier/server/workflows";
import { readObjectInfo } from "@atelier/worker/clients/comfyui";
import { readServerAddress, withoutSecrets } from "@atelier/worker/servers";
import { parseFlags } from "./flags.ts";

const usage = `Usage: atelier workflow check DIR [--server URL]
       atelier workflow check --server URL    (the workflows that ship with Atelier)`;

interface Verdict {
  readonly name: string;
  readonly problems: readonly string[];
  /** No faults, but good to know. */
  readonly notes: readonly string[];
}

/** The server with the headers that the environment has for it. */
async function readClasses(given: string, workflows: readonly Workflow[]): Promise<ObjectInfoByClass> {
  const { signal } = new AbortController();
  const server = readServerAddress(given, inspectEnv(process.env).env);
  const classes = new Set(workflows.flatMap((workflow) => workflow.classes));
  const objectInfo = new Map<string, ObjectInfo | null>();
  for (const name of classes) objectInfo.set(name, await readObjectInfo(server, name, { signal }));
  return objectInfo;
}

/** Without a folder the workflows that ship with the product. */
async function checkAll(dir: string | null, url: string): Promise<Verdict[]> {
  const { workflows, problems } =
    dir === null ? { workflows: builtInWorkflows(), problems: [] } : await readWorkflowFolder(dir);
  const objectInfo = url === "" ? null : await readClasses(url, workflows);
  return [
    ...workflows.map((workflow) => ({
      name: workflow.name,
      problems: objectInfo ? checkWorkflow(workflow, objectInfo) : [],
      notes: noteWorkflow(workflow, objectInfo),
    })),
    ...problems.map(({ name, reason }) => ({ name, problems: reason.split("\n"), notes: [] })),
  ];
}

function print({ name, problems, notes }: Verdict): void {
  console.log(`${problems.length === 0 ? "ok  " : "FAIL"}  ${name}`);
  for (const problem of problems) console.log(`      ${problem}`);
  for (const note of notes) console.log(`      note: ${note}`);
}

function summarise(verdicts: readonly Verdict[]): number {
  if (verdicts.length === 0) console.log("There is no workflow folder here.");
  else verdicts.forEach(print);
  return verdicts.length > 0 && verdicts.every(({ problems }) => problems.length === 0) ? 0 : 1;
}

/**
 * `atelier workflow check`: what is wrong with one workflow folder, or each of a folder of them, or with what ships with
 * the product on a server; 1 when anything is.
 */
async function workflowCheck(given: string[]): Promise<number> {
  const [first = ""] = given;
  const dir = first === "" || first.startsWith("-") ? null : first;
  const options = { server: { type: "string", default: "" } } as const;
  const args = dir === null ? given : given.slice(1);
  const flags = parseFlags({ args, options, required: [], usage });
  if (!flags) return 1;
  if (dir === null && flags.server === "") {
    console.error(`Missing: DIR or --server URL\n${usage}`);
    return 1;
  }
  try {
    return summarise(await checkAll(dir, flags.server));
  } catch (error) {
    if (!isAppError(error)) throw error;
    console.error(`${withoutSecrets(flags.server)}: ${error.message}`);
    return 1;
  }
}

/** `atelier workflow check`: the verbs about workflow folders. */
export async function workflow([verb, ...args]: string[]): Promise<number> {
  if (verb === "check") return workflowCheck(args);
  console.error(verb ? `There is no command "workflow ${verb}".\n${usage}` : usage);
  return 1;
}

import { usage, workflowCheck } from "./workflow-check.ts";

/** `atelier workflow check`: the verbs about workflow folders. */
export async function workflow([verb, ...args]: string[]): Promise<number> {
  if (verb === "check") return workflowCheck(args);
  console.error(verb ? `There is no command "workflow ${verb}".\n${usage}` : usage);
  return 1;
}

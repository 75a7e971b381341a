import type { InputRole } from "../engines/index.ts";
import type { Workflow } from "./workflow.ts";

/** Whether a workflow can work with exactly these pictures: it takes each, and misses none that it needs. */
export function takesInputs({ inputs }: Pick<Workflow, "inputs">, roles: readonly InputRole[]): boolean {
  return (
    roles.every((role) => inputs[role] !== undefined) &&
    Object.entries(inputs).every(([role, { required }]) => !required || roles.some((given) => given === role))
  );
}

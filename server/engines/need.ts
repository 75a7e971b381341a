import type { EngineName } from "../engines.ts";
import type { JobKind } from "./kinds.ts";

/** What a job needs in order to run, as one text: `comfyui/<workflow>`, `iopaint/<kind>` or `local/<kind>`. */
export type Need = `${EngineName}/${string}`;

export function needOf(job: { engine: EngineName; kind: JobKind; workflow: string | null }): Need {
  return job.engine === "comfyui" ? `comfyui/${job.workflow ?? ""}` : `${job.engine}/${job.kind}`;
}

import { AppError } from "@atelier/server/platform";
import { findWorkflow } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import type { EngineTask } from "./engines/index.ts";
import type { RunInput } from "./run-job.ts";

/** The task of a claimed job; throws `workflow_unknown` when its workflow is published nowhere any more. */
export async function taskOf(
  services: Pick<Services, "db">,
  { job, otherServers }: Pick<RunInput, "job" | "otherServers">,
  files: Pick<EngineTask, "inputs" | "workDir">,
): Promise<EngineTask> {
  const { workflow: name, server, externalId } = job;
  const workflow = name === null ? null : await findWorkflow(services.db, name);
  if (name !== null && !workflow) throw new AppError("workflow_unknown", `The workflow "${name}" is gone.`);
  return {
    jobId: job.id,
    kind: job.kind,
    attempt: job.attempt,
    need: job.need,
    workflow,
    avoid: [...job.avoid, ...otherServers],
    submission: server !== null && externalId !== null ? { server, externalId } : null,
    params: job.params,
    ...files,
  };
}

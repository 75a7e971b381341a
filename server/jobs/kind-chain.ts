import { sql } from "drizzle-orm";
import { type CloudModel, modelsOf } from "../providers/index.ts";
import { cloudCandidates } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { amend, heldBy, hint, type Job, type Lease } from "./job.ts";
import { resolveParams, unusedIn } from "./params.ts";
import { parseSubmit } from "./request.ts";
import { readRequest } from "./retry.ts";

/** The other models that can do a job whose request named none, in the order of the list; empty when it named one. */
export async function otherModels(services: Services, job: Job): Promise<readonly CloudModel[]> {
  const asked = job.placement?.asked;
  if (!asked || asked.model || asked.workflow !== null) return [];
  const request = parseSubmit({ ...(await readRequest(services, job)), engine: "cloud" });
  const models = cloudCandidates(modelsOf(services.config), request).flatMap(({ model }) => model ?? []);
  return models.filter(({ id }) => id !== job.model);
}

/** Has the job run with another model of its kind, under the same lease. Null when that is no longer current. */
export async function changeModel(
  services: Services,
  { job, lease }: { readonly job: Job; readonly lease: Lease },
  model: CloudModel,
): Promise<Job | null> {
  const request = parseSubmit({ ...(await readRequest(services, job)), engine: "cloud" });
  const params = resolveParams(request, { workflow: null, model });
  const { unused } = unusedIn(request.params, params);
  const changed = await amend(services.db, {
    where: sql`${heldBy(lease)} and status = 'processing'`,
    set: {
      model: model.id,
      need: `cloud/${model.id}`,
      params,
      placement: sql`jsonb_set(placement, '{asked,unused}', ${JSON.stringify(unused ?? {})}::jsonb)`,
    },
    event: "model_changed",
    data: { from: job.model, to: model.id },
  });
  if (changed) hint(services, [changed]);
  return changed;
}

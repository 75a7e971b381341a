import path from "node:path";
import type { InputRole } from "@atelier/server/engines";
import { readOriginalTo } from "@atelier/server/images";
import { loadInputImages, type Job } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";

/** Copies the job's pictures into the work folder; gives the path of each by role. Throws `input_missing`. */
export async function fetchInputs(
  services: Services,
  job: Job,
  workDir: string,
): Promise<Partial<Record<InputRole, string>>> {
  const inputs: Partial<Record<InputRole, string>> = {};
  for (const [role, image] of await loadInputImages(services, job.id)) {
    const file = path.join(workDir, role);
    await readOriginalTo(services, image, file);
    inputs[role] = file;
  }
  return inputs;
}

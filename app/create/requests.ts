import type { SubmitInput } from "@atelier/server/jobs";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import type { CreateForm } from "./form/create-form.ts";
import { sizeOf } from "./form/size-of.ts";
import { settingOf } from "./form/within.ts";

export type CreateRequest = Extract<SubmitInput, { kind: "text_to_image" }>;

/** The request for one picture, without its seed. */
export function requestOf(form: CreateForm, { name, params }: OfferedWorkflow): CreateRequest {
  const own = form.settings[name];
  const negativePrompt = form.negativePrompt.trim();
  const steps = settingOf(params.steps, own?.steps);
  const guidance = settingOf(params.guidance, own?.guidance);
  return {
    kind: "text_to_image",
    workflow: name,
    inputs: {},
    params: {
      prompt: form.prompt.trim(),
      ...(params.negativePrompt !== undefined && negativePrompt !== "" ? { negativePrompt } : {}),
      ...sizeOf(form, { params }),
      ...(steps === undefined ? {} : { steps }),
      ...(guidance === undefined ? {} : { guidance }),
    },
  };
}

/** One request per picture; a given seed counts up, so that each picture is another. */
export function requestsOf(form: CreateForm, workflow: OfferedWorkflow): CreateRequest[] {
  const request = requestOf(form, workflow);
  const { seed } = form;
  const takesSeed = workflow.params.seed !== undefined;
  return Array.from({ length: form.count }, (_, index) =>
    seed === null || !takesSeed
      ? request
      : { ...request, params: { ...request.params, seed: countUp(seed, index) } },
  );
}

/** After the largest comes zero. */
export function countUp(seed: number, by: number): number {
  const toLargest = Number.MAX_SAFE_INTEGER - seed;
  return by > toLargest ? by - toLargest - 1 : seed + by;
}

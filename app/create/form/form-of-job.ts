import type { JobView } from "@atelier/server/jobs";
import { aspects, type CreateForm, type OwnSettings } from "./create-form.ts";
import { sizeForAspect } from "./size-of.ts";
import type { OfferedWorkflow } from "../../data/use-workflows.ts";

const numberIn = (value: unknown) => (typeof value === "number" ? value : undefined);
const textIn = (value: unknown) => (typeof value === "string" ? value : "");

function aspectOf(width: number, height: number, workflow: OfferedWorkflow | undefined) {
  if (workflow === undefined) return null;
  return (
    aspects.find((aspect) => {
      const size = sizeForAspect(workflow, aspect);
      return size?.width === width && size.height === height;
    }) ?? null
  );
}

type Made = Pick<JobView, "params" | "workflow">;

/** What the form must say to make the picture of a job again. */
export function formOfJob(
  { params, workflow }: Made,
  { settings }: Pick<CreateForm, "settings">,
  offered: readonly OfferedWorkflow[],
): Partial<CreateForm> {
  const steps = numberIn(params.steps);
  const guidance = numberIn(params.guidance);
  const own: OwnSettings = {
    ...(steps === undefined ? {} : { steps }),
    ...(guidance === undefined ? {} : { guidance }),
  };
  const width = numberIn(params.width);
  const height = numberIn(params.height);
  const known = offered.find(({ name }) => name === workflow);
  return {
    prompt: textIn(params.prompt),
    negativePrompt: textIn(params.negativePrompt),
    workflow,
    ...(width === undefined || height === undefined
      ? {}
      : { widthPx: width, heightPx: height, aspect: aspectOf(width, height, known) }),
    count: 1,
    seed: numberIn(params.seed) ?? null,
    settings: workflow === null ? settings : { ...settings, [workflow]: own },
  };
}

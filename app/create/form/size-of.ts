import type { OfferedWorkflow } from "../../data/use-workflows.ts";
import type { Aspect, CreateForm } from "./create-form.ts";
import { settingOf, within } from "./within.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

type Sized = Pick<OfferedWorkflow, "params">;

/** Width by height. */
export function ratioOf(aspect: Aspect): number {
  const [width = 1, height = 1] = aspect.split(":").map(Number);
  return width / height;
}

/** As many pixels as the workflow likes best, in these proportions; null where it takes no size. */
export function sizeForAspect({ params }: Sized, aspect: Aspect): Size | null {
  const width = settingOf(params.width, undefined);
  const height = settingOf(params.height, undefined);
  if (params.width === undefined || params.height === undefined) return null;
  const pixels = (width ?? 1_024) * (height ?? 1_024);
  const ratio = ratioOf(aspect);
  return {
    width: within(Math.sqrt(pixels * ratio), params.width),
    height: within(Math.sqrt(pixels / ratio), params.height),
  };
}

/** The size that the form asks this workflow for. */
export function sizeOf(
  form: Pick<CreateForm, "aspect" | "widthPx" | "heightPx">,
  workflow: Sized,
): Size | null {
  if (form.aspect !== null) return sizeForAspect(workflow, form.aspect);
  const { width, height } = workflow.params;
  if (width === undefined || height === undefined) return null;
  return { width: within(form.widthPx, width), height: within(form.heightPx, height) };
}

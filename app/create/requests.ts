"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { JobView, SubmitInput } from "@atelier/server/jobs";
import type { OfferedParam, OfferedWorkflow } from "../client/queries.ts";
import { useRemix } from "../client/remix.ts";
import { toastWithUndo } from "../ui/toasts.tsx";
import { type Aspect, aspects, createForm, type CreateForm, type OwnSettings } from "./form.ts";

/** The nearest number that a setting of a workflow accepts. */
export function within(value: number, param: OfferedParam): number {
  const step = param.multipleOf ?? (param.type === "integer" ? 1 : 0);
  const min = param.min ?? 0;
  const max = param.max ?? Number.MAX_SAFE_INTEGER;
  const bounded = Math.min(max, Math.max(min, value));
  if (step === 0) return bounded;
  const lowest = Math.ceil(min / step) * step;
  const highest = Math.floor(max / step) * step;
  return Math.min(highest, Math.max(lowest, Math.round(bounded / step) * step));
}

/** A number that was set, within the range; else the workflow's own. Undefined where it has none. */
export function settingOf(param: OfferedParam | undefined, own: number | undefined): number | undefined {
  if (param === undefined || param.type === "text" || param.type === "seed") return undefined;
  if (own !== undefined) return within(own, param);
  return typeof param.default === "number" ? param.default : undefined;
}

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

/** The form values that make the picture of a job again. */
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

/** Fills the form as it was for the picture that the address names. */
export function useCreateRemix(offered: readonly OfferedWorkflow[] | undefined): void {
  const t = useTranslations("create");
  const take = useCallback(
    (job: Pick<JobView, "params" | "workflow">) => {
      if (offered === undefined) return;
      const former = createForm.get();
      createForm.set(formOfJob(job, former, offered));
      if (former.prompt.trim() === "") return;
      toastWithUndo({ title: t("remixed"), undoLabel: t("undo"), onUndo: () => createForm.set(former) });
    },
    [offered, t],
  );
  useRemix(offered === undefined ? null : take);
}

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

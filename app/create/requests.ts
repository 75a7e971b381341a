"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { JobView, SubmitInput } from "@atelier/server/jobs";
import type { Size } from "@atelier/server/retouch";
import type { OfferedWorkflow } from "../client/queries.ts";
import { useRemix } from "../client/remix.ts";
import { choiceNameOf, choiceOf } from "../client/submit/job.ts";
import { toastWithUndo } from "../ui/toasts.tsx";
import {
  type Aspect,
  aspects,
  createForm,
  type CreateForm,
  listedSettings,
  readChosen,
  type SettingOverrides,
} from "./form.ts";
import { pictureRoles } from "../client/references.ts";
import { addToSeed, nearestAllowed, resolveSetting } from "../client/numbers.ts";
import { readLoras } from "../jobs/params.ts";
import { pictureInputs, referencesOf } from "./references.ts";

export type CreateRequest = Extract<SubmitInput, { kind: "text_to_image" }>;

/** One request per picture. A fixed seed rises by one for each picture, so that the pictures differ. */
export function buildRequests(form: CreateForm, workflow: OfferedWorkflow): CreateRequest[] {
  const request = buildRequest(form, workflow);
  const { seed } = form;
  const takesSeed = workflow.params.seed !== undefined;
  return Array.from({ length: form.count }, (_, index) =>
    seed === null || !takesSeed
      ? request
      : { ...request, params: { ...request.params, seed: addToSeed(seed, index) } },
  );
}

/** The request for one picture, without its seed. Fields that the workflow does not take are left out. */
export function buildRequest(form: CreateForm, workflow: OfferedWorkflow): CreateRequest {
  const { name, params } = workflow;
  const overrides = form.settings[name];
  const negativePrompt = form.negativePrompt.trim();
  const steps = resolveSetting(params.steps, overrides?.steps);
  const guidance = resolveSetting(params.guidance, overrides?.guidance);
  return {
    kind: "text_to_image",
    ...choiceOf(workflow),
    inputs: pictureInputs(form.references, workflow),
    ...(form.styles.length > 0 || isTemplate(form.prompt) || isTemplate(form.negativePrompt)
      ? { template: { styles: [...form.styles] } }
      : {}),
    params: {
      prompt: form.prompt.trim(),
      ...(params.negativePrompt !== undefined && negativePrompt !== "" ? { negativePrompt } : {}),
      ...chosenSize(form, { params }),
      ...(steps === undefined ? {} : { steps }),
      ...(guidance === undefined ? {} : { guidance }),
      ...strengthsOf(form, workflow),
      ...chosenOf(form, workflow),
      ...(params.loras === undefined || form.loras.length === 0 ? {} : { loras: [...form.loras] }),
    },
  };
}

/** Cells differ in what the axes say and in nothing else: the same is drawn from choices and lists in all of them. */
export function fixedSeed({ seed }: CreateForm): (request: CreateRequest) => CreateRequest {
  return (request) =>
    request.template === undefined || seed === null
      ? request
      : { ...request, template: { ...request.template, seed } };
}

/** What was chosen of what servers list, where the workflow has a place for it. */
function chosenOf({ settings }: CreateForm, { name, params }: OfferedWorkflow) {
  const own = Object.entries(readChosen(settings[name] ?? {}));
  return Object.fromEntries(own.filter(([setting]) => setting in params));
}

/** Whether the workflow must be told one of what servers list, and was not. */
export function lacksChoice({ settings }: CreateForm, { name, params }: OfferedWorkflow): boolean {
  return listedSettings.some((setting) => params[setting]?.required === true && !settings[name]?.[setting]);
}

/** How much the pictures of each role count, where some are given and the workflow lets one say it. */
function strengthsOf({ references, settings }: CreateForm, { name, params }: OfferedWorkflow) {
  const given = pictureRoles.filter((role) => references.some((one) => one.role === role));
  const values = given.flatMap((role) => {
    const setting = `${role}Strength` as const;
    const value = resolveSetting(params[setting], settings[name]?.[setting]);
    return value === undefined ? [] : [[setting, value] as const];
  });
  return Object.fromEntries(values);
}

/** Whether something is drawn from a prompt, or has to be written with a backslash. */
export const isTemplate = (text: string): boolean => /[{}]|__|\\[{}|_]/.test(text);

type WithParams = Pick<OfferedWorkflow, "params">;

/** The size that the form requests from this workflow; null when the workflow takes no size. */
export function chosenSize(
  form: Pick<CreateForm, "aspect" | "widthPx" | "heightPx">,
  workflow: WithParams,
): Size | null {
  if (form.aspect !== null) return sizeForAspect(workflow, form.aspect);
  const { width, height } = workflow.params;
  if (width === undefined || height === undefined) return null;
  return { width: nearestAllowed(form.widthPx, width), height: nearestAllowed(form.heightPx, height) };
}

/** The size with this aspect and about as many pixels as the workflow's default size; null when it takes no size. */
export function sizeForAspect({ params }: WithParams, aspect: Aspect): Size | null {
  if (params.width === undefined || params.height === undefined) return null;
  const defaultWidth = resolveSetting(params.width, undefined) ?? 1_024;
  const defaultHeight = resolveSetting(params.height, undefined) ?? 1_024;
  const pixels = defaultWidth * defaultHeight;
  const ratio = ratioOf(aspect);
  return {
    width: nearestAllowed(Math.sqrt(pixels * ratio), params.width),
    height: nearestAllowed(Math.sqrt(pixels / ratio), params.height),
  };
}

/** Width divided by height. */
export function ratioOf(aspect: Aspect): number {
  const [width = 1, height = 1] = aspect.split(":").map(Number);
  return width / height;
}

/** Fills the form from a job, with Undo when a prompt was replaced. */
export function useFillForm(offered: readonly OfferedWorkflow[] | undefined): (job: SourceJob) => void {
  const t = useTranslations("create");
  return useCallback(
    (job) => {
      if (offered === undefined) return;
      const former = createForm.get();
      createForm.set(formOfJob(job, former, offered));
      if (former.prompt.trim() === "") return;
      toastWithUndo({ title: t("remixed"), undoLabel: t("undo"), onUndo: () => createForm.set(former) });
    },
    [offered, t],
  );
}

/** Remix: fills the form from the job of the picture in the address. */
export function useCreateRemix(offered: readonly OfferedWorkflow[] | undefined): void {
  const fill = useFillForm(offered);
  useRemix(offered === undefined ? null : fill);
}

interface SourceJob extends Pick<JobView, "params" | "workflow" | "model"> {
  readonly inputs?: JobView["inputs"];
  readonly template?: {
    readonly drawn: NonNullable<JobView["template"]>["drawn"];
    readonly styles: readonly { readonly name: string }[];
  } | null;
}

/** The form values that repeat a job. */
export function formOfJob(
  { params, template = null, inputs = [], ...source }: SourceJob,
  { settings }: Pick<CreateForm, "settings">,
  offered: readonly OfferedWorkflow[],
): Partial<CreateForm> {
  const workflow = choiceNameOf(source);
  const names = ["steps", "guidance", ...pictureRoles.map((role) => `${role}Strength` as const)] as const;
  const overrides: SettingOverrides = Object.fromEntries(
    names.flatMap((name) => (typeof params[name] === "number" ? [[name, params[name]]] : [])),
  );
  const own = { ...overrides, ...readChosen(params) };
  const width = numberOrUndefined(params.width);
  const height = numberOrUndefined(params.height);
  const known = offered.find(({ name }) => name === workflow);
  return {
    mode: "one",
    // What was drawn gives the same picture again; the styles go around it once more.
    prompt: escapeTemplate(textOrEmpty(template === null ? params.prompt : template.drawn.prompt)),
    negativePrompt: escapeTemplate(
      textOrEmpty(template === null ? params.negativePrompt : template.drawn.negativePrompt),
    ),
    styles: template === null ? [] : template.styles.map(({ name }) => name),
    workflow,
    loras: readLoras(params.loras),
    references: referencesOf(inputs),
    ...(width === undefined || height === undefined
      ? {}
      : { widthPx: width, heightPx: height, aspect: aspectOf({ width, height }, known) }),
    count: 1,
    seed: numberOrUndefined(params.seed) ?? null,
    settings: workflow === null ? settings : { ...settings, [workflow]: own },
  };
}

/** A plain text as the form has it, in which signs of choices stand for themselves. */
export const escapeTemplate = (text: string): string =>
  text.replaceAll(/[{}]|_(?=_)/g, (sign) => `\\${sign}`);

const numberOrUndefined = (value: unknown) => (typeof value === "number" ? value : undefined);
const textOrEmpty = (value: unknown) => (typeof value === "string" ? value : "");

/** The aspect whose size for this workflow is exactly `size`; null when no aspect gives this size. */
function aspectOf({ width, height }: Size, workflow: OfferedWorkflow | undefined): Aspect | null {
  if (workflow === undefined) return null;
  return (
    aspects.find((aspect) => {
      const size = sizeForAspect(workflow, aspect);
      return size?.width === width && size.height === height;
    }) ?? null
  );
}

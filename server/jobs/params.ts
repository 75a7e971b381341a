import type { z } from "zod";
import type { JobKind } from "../engines.ts";
import { AppError, issuesOf, lineOfIssues } from "../platform/index.ts";
import { paramsTaken } from "../providers/index.ts";
import { type Candidate, sizeClassOf } from "../scheduling/index.ts";
import { drawSeed, type Workflow, workflowParams } from "../workflows/index.ts";
import type { Inputs } from "./pictures.ts";
import type { SubmitRequest } from "./request.ts";

type Params = Readonly<Record<string, unknown>>;

/** Params of the kind itself; a workflow receives them only if it maps them. */
const ofTheKind = new Set(["consent", "category", "scale"]);

type Fitting = Pick<Candidate, "workflow" | "model">;

/**
 * The complete params of a run: checked against the workflow, with its defaults and a seed, so that the same params
 * give the same picture again. Params that an unnamed workflow or model does not take are dropped. Throws `workflow_params`.
 */
export function resolveParams(request: SubmitRequest, { workflow, model }: Fitting): Record<string, unknown> {
  const given: Params = request.params;
  if (model) return paramsTaken(model, given);
  if (!workflow) return { ...given };
  const fitted = fit(request, workflow, none);
  if ("params" in fitted) return fitted.params;
  const issues = issuesOf(fitted);
  throw new AppError("workflow_params", `"${workflow.title}": ${lineOfIssues(issues)}`, {
    details: { issues },
  });
}

/**
 * The same for a client that does not know the workflows: a value out of range costs itself alone, its default applies,
 * and what the run does not take is kept in the metadata.
 */
export function resolveTolerantly(request: SubmitRequest, fitting: Fitting) {
  const { params, wrong } = paramsTolerated(request, fitting);
  const left = Object.entries(request.params).filter(([name]) => !(name in params) || wrong.has(name));
  const metadata =
    left.length === 0 ? request.metadata : { ...Object.fromEntries(left), ...request.metadata };
  return { params, metadata };
}

function paramsTolerated(request: SubmitRequest, fitting: Fitting) {
  const { workflow } = fitting;
  const first = workflow && fit(request, workflow, none);
  if (!first || "params" in first) return { params: resolveParams(request, fitting), wrong: none };
  const wrong = new Set<unknown>(first.issues.flatMap(namesIn));
  const again = fit(request, workflow, wrong);
  return { params: "params" in again ? again.params : resolveParams(request, fitting), wrong };
}

/** The settings that an issue is about: names that a named workflow does not know come all in one, without a place. */
function namesIn(issue: z.core.$ZodIssue): readonly PropertyKey[] {
  const [name] = issue.path;
  if (name !== undefined) return [name];
  return issue.code === "unrecognized_keys" ? issue.keys : [];
}

const none: ReadonlySet<unknown> = new Set();

/** The params of a run, but for the wrong ones; else what the workflow refuses. */
function fit(
  { params: given, workflow: named }: SubmitRequest,
  workflow: Workflow,
  wrong: ReadonlySet<unknown>,
): { readonly params: Record<string, unknown> } | z.ZodError {
  const all: [string, unknown][] = Object.entries(given);
  const isOfKind = (name: string) => ofTheKind.has(name) && !(name in workflow.params);
  // A named workflow refuses what it does not take.
  const isOfWorkflow = (name: string) =>
    !wrong.has(name) && !isOfKind(name) && (name in workflow.params || named !== undefined);
  const result = workflowParams(workflow).safeParse(
    Object.fromEntries(all.filter(([name]) => isOfWorkflow(name))),
  );
  if (!result.success) return result.error;
  const spec = workflow.params.seed;
  const seed = spec ? { seed: result.data.seed ?? drawSeed(spec) } : {};
  // Drop empty defaults, or they would count as a prompt that the user typed.
  const filled = Object.entries(result.data).filter(([name, value]) => value !== "" || name in given);
  const kept = all.filter(([name]) => isOfKind(name));
  return { params: { ...Object.fromEntries(kept), ...Object.fromEntries(filled), ...seed } };
}

/** The request without the settings that a workflow may refuse. */
export function withoutSettings(request: SubmitRequest): SubmitRequest {
  const all: [string, unknown][] = Object.entries(request.params);
  const kept = all.filter(([name]) => name === "prompt" || ofTheKind.has(name));
  // Safe: every setting is optional.
  return { ...request, params: Object.fromEntries(kept) } as SubmitRequest;
}

/** The given params that a place does not take, which another one may; empty when it takes all. */
export function unusedIn(given: Params, taken: object): { readonly unused?: Params } {
  const unused = Object.entries(given).filter(([name]) => !(name in taken));
  return unused.length === 0 ? {} : { unused: Object.fromEntries(unused) };
}

/** The size class of a run with each candidate that could run the request. */
export function sizeClassesOf(request: SubmitRequest, inputs: Inputs): (candidate: Fitting) => number {
  return (candidate) => sizeClassOfRun(request.kind, paramsIn(request, candidate), inputs);
}

/** Settings that the workflow refuses are reported by the submit; for comparing runs they count as given. */
function paramsIn(request: SubmitRequest, candidate: Fitting): Params {
  try {
    return resolveParams(request, candidate);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return request.params;
  }
}

/** Assumed when neither the params nor a picture give a size. */
const usualPixels = 1_000_000;

/** The size class of a run, to compare it with past runs: pixels of the result, or of the input picture, times steps. */
export function sizeClassOfRun(
  kind: JobKind,
  params: Readonly<Record<string, unknown>>,
  inputs: Inputs,
): number {
  const number = (name: string) => (typeof params[name] === "number" ? params[name] : null);
  const [width, height] = [number("width"), number("height")];
  const picture = inputs.get("image") ?? inputs.get("person");
  const scale = kind === "upscale" ? (number("scale") ?? 1) : 1;
  const ofPicture = picture ? picture.widthPx * picture.heightPx * scale ** 2 : usualPixels;
  const pixels = width !== null && height !== null ? width * height : ofPicture;
  return sizeClassOf({ pixels, steps: number("steps") ?? 1 });
}

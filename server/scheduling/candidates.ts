import {
  canEngineRun,
  type EngineName,
  engines,
  enginesFor,
  type InputRole,
  isLocalCutOut,
  type JobKind,
  type Need,
  needOf,
  selectionMeans,
} from "../engines.ts";
import { AppError } from "../platform/index.ts";
import {
  type CloudModel,
  findModel,
  lackOf,
  mayTake,
  modelsFor,
  offersFor,
  paramsTaken,
} from "../providers/index.ts";
import type { ServerLack } from "./workflows.ts";
import { takesInputs, type Workflow, workflowParams } from "../workflows/index.ts";
import { currentWords } from "../words.ts";

/** The parts of a request that decide where it may run. */
export interface PlaceRequest {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  /** Roles of the input pictures. */
  readonly roles: ReadonlySet<InputRole>;
  readonly engine?: EngineName | undefined;
  readonly workflow?: string | undefined;
  readonly model?: string | undefined;
}

/** What could run a request at all. */
export interface Known {
  readonly workflows: readonly Workflow[];
  /** Models of providers; empty where the request may not leave the studio's own machines. */
  readonly models: readonly CloudModel[];
}

/** One way to run a request. */
export interface Candidate {
  readonly engine: EngineName;
  readonly workflow: Workflow | null;
  /** Set for the engine `cloud` alone. */
  readonly model?: CloudModel;
  readonly need: Need;
}

/**
 * All ways to run a request, best first and own ones before providers; a named engine, workflow or model narrows them.
 * Throws `workflow_unknown` when the named workflow does not exist or has another kind, `workflow_params` when it takes
 * other pictures, and `model_unknown` alike for a model; `model_params` when a named model takes other settings.
 */
export function findCandidates({ workflows, models }: Known, request: PlaceRequest): Candidate[] {
  if (isLocalCutOut(request) && (request.workflow ?? request.model) !== undefined)
    throw new AppError(
      "bad_request",
      "Only this computer cuts out garments and sets backgrounds. Name no workflow and no model.",
    );
  if (request.workflow !== undefined) return [namedCandidate(workflows, request, request.workflow)];
  if (request.model !== undefined) return [namedModel(models, request, request.model)];
  const ofModels = modelsFor(models, request)
    .filter((model) => takesPrompt(model, request) && mayTake(model, request.params))
    .map((model) => modelCandidate(model, request));
  if (request.engine === "cloud") return ofModels;
  if (request.engine !== undefined && !canEngineRun(request.engine, request))
    throw new AppError("no_engine", wrongEngineReason(request.engine, request));
  const own = ownCandidates(workflows, request);
  const mayLeave = request.engine === undefined && !isLocalCutOut(request);
  return mayLeave ? [...own, ...ofModels] : own;
}

/** With the providers alone that take the settings: their prices and keys are those that count. */
function modelCandidate(model: CloudModel, { params }: PlaceRequest): Candidate {
  const fitting = { ...model, offers: offersFor(model.offers, paramsTaken(model, params)) };
  return { engine: "cloud", workflow: null, model: fitting, need: `cloud/${model.id}` };
}

function namedModel(models: readonly CloudModel[], request: PlaceRequest, id: string): Candidate {
  const known = findModel(models, id);
  if (!known || known.kind !== request.kind)
    throw new AppError("model_unknown", `There is no model "${id}" for this.`);
  const [model] = modelsFor([known], request);
  if (!model) {
    const takes = [...known.inputs.required, ...known.inputs.optional].join(", ") || "no pictures";
    throw new AppError("model_unknown", `The model "${id}" takes other pictures: ${takes}.`);
  }
  if (!takesPrompt(model, request))
    throw new AppError(
      "bad_request",
      `The model "${id}" ${needsPrompt(model) ? "needs a" : "takes no"} prompt.`,
    );
  const lack = lackOf(model, request.params);
  if (lack !== null) throw new AppError("model_params", lack);
  return modelCandidate(model, request);
}

/** Whether the model takes the prompt of the request, or can run without one. */
function takesPrompt(model: CloudModel, { params }: PlaceRequest): boolean {
  const hasPrompt = params["prompt"] !== undefined && params["prompt"] !== "";
  return hasPrompt ? model.params.includes("prompt") : !needsPrompt(model);
}

function needsPrompt({ kind, params }: CloudModel): boolean {
  return params.includes("prompt") && (kind === "text_to_image" || kind === "edit" || kind === "inpaint");
}

function ownCandidates(workflows: readonly Workflow[], request: PlaceRequest): Candidate[] {
  const engines = request.engine ? [request.engine] : enginesFor(request);
  const candidates: Candidate[] = [];
  for (const engine of engines) {
    if (engine === "comfyui") candidates.push(...workflowCandidates(workflows, request));
    else
      candidates.push({
        engine,
        workflow: null,
        need: needOf({ engine, kind: request.kind, workflow: null }),
      });
  }
  return candidates;
}

function workflowCandidates(workflows: readonly Workflow[], request: PlaceRequest): Candidate[] {
  const fitting = workflows.filter(
    (workflow) =>
      workflow.kind === request.kind &&
      takesInputs(workflow, [...request.roles]) &&
      fitsPrompt(workflow, request) &&
      // With another model it would be another picture.
      (request.params["checkpoint"] === undefined || workflow.params.checkpoint !== undefined) &&
      selectsBy(workflow, request),
  );
  const accepting = fitting.filter((workflow) => accepts(workflow, request));
  // When none accepts the settings, the check of the first one later reports the errors.
  const chosen = accepting.length > 0 ? accepting : fitting;
  return chosen.toSorted((a, b) => a.rank - b.rank).map(candidateOf);
}

function namedCandidate(workflows: readonly Workflow[], request: PlaceRequest, name: string): Candidate {
  const workflow = workflows.find((known) => known.name === name);
  if (!workflow || workflow.kind !== request.kind) {
    throw new AppError("workflow_unknown", `There is no workflow "${name}" for this.`);
  }
  if (!takesInputs(workflow, [...request.roles])) {
    const takes = Object.keys(workflow.inputs).join(", ") || "no pictures";
    throw new AppError("workflow_params", `The workflow "${name}" takes other pictures: ${takes}.`);
  }
  if (!selectsBy(workflow, request))
    throw new AppError("workflow_params", `The workflow "${name}" selects by something else.`);
  return candidateOf(workflow);
}

function candidateOf(workflow: Workflow): Candidate {
  return { engine: "comfyui", workflow, need: `comfyui/${workflow.name}` };
}

/** Whether the params that the workflow knows are within its ranges. */
function accepts(workflow: Workflow, { params }: PlaceRequest): boolean {
  const own = Object.entries(params).filter(([name]) => name in workflow.params);
  return workflowParams(workflow).safeParse(Object.fromEntries(own)).success;
}

/** Whether the workflow selects by what the request gives; true for requests that select nothing. */
function selectsBy({ params }: Workflow, request: PlaceRequest): boolean {
  const given = selectionMeans.filter((means) => request.params[means] !== undefined);
  return request.kind !== "segment" || given.every((means) => Object.hasOwn(params, means));
}

/** Whether the workflow takes the prompt of the request, or can run without one. */
function fitsPrompt({ params }: Workflow, request: PlaceRequest): boolean {
  const prompt = Object.entries(params).find(([name]) => name === "prompt")?.[1];
  if (!prompt) return request.params["prompt"] === undefined;
  const isRequired = prompt.type === "text" && prompt.required && prompt.default === undefined;
  return !isRequired || request.params["prompt"] !== undefined;
}

/** Message for a named engine that can never do this, with the engines that can. */
function wrongEngineReason(engine: EngineName, request: PlaceRequest): string {
  const others = engines.map(({ name }) => name).filter((name) => canEngineRun(name, request));
  return `The engine "${engine}" cannot do this ${request.kind}. Leave "engine" out, or name ${others.join(" or ")}.`;
}

const shownServers = 3;
const shownLacks = 3;

/** Which server lacks what, for a request that needs a workflow although servers are there. */
export function lackReason(kind: JobKind, lacks: readonly ServerLack[]): string {
  const ofServers = lacks.slice(0, shownServers).map(({ label, workflow, lacks: things }) => {
    const rest = things.length > shownLacks ? ` and ${things.length - shownLacks} more` : "";
    return `${label} lacks for ${workflow}: ${things.slice(0, shownLacks).join(", ")}${rest}.`;
  });
  const others =
    lacks.length > shownServers ? ` ${lacks.length - shownServers} more servers lack something too.` : "";
  return `No connected server has all that a workflow for ${kind} needs. ${ofServers.join(" ")}${others}`;
}

/** What to connect for the kinds that not every worker can do. */
const missingByKind = {
  text_to_image: "text_to_image",
  edit: "edit",
  restore_faces: "restore_faces",
  segment: "segment",
  adjust: "ownWorker",
  crop: "ownWorker",
  restore: "ownWorker",
  expand: "expand",
} as const satisfies Partial<Record<JobKind, string>>;

/** Message for a kind that no node of the last 24 hours could run, with what to connect. */
export function missingEngineReason(kind: JobKind, candidates: readonly Candidate[]): string {
  const { t } = currentWords();
  const [first] = candidates;
  if (candidates.length === 1 && first?.workflow) {
    return t("reasons.missing.ofWorkflow", { workflow: first.workflow.title });
  }
  return t(`reasons.missing.${kind in missingByKind ? missingByKind[kind as "edit"] : "other"}`);
}

import { type JobKind, jobKinds } from "./platform/names.ts";
import { pictureLimits } from "./platform/picture-limits.ts";

export { type JobKind, jobKinds };

interface Roles {
  readonly required: readonly InputRole[];
  readonly optional: readonly InputRole[];
}

/**
 * `base` is what is painted back into the `image`, `background` what is laid behind what is cut out of it. Of a text to
 * image, `reference` and the further ones show things and people, `style` how it shall look, `structure` where what shall
 * be, and `face` whose face it shall have.
 */
export const inputRoles = [
  "person",
  "garment",
  "garment2",
  "garment3",
  "garment4",
  "image",
  "reference",
  "reference2",
  "reference3",
  "base",
  "background",
  "mask",
  "style",
  "structure",
  "face",
] as const;
export type InputRole = (typeof inputRoles)[number];

/** Further pictures of one sort, in the order in which they are given: one without the one before is refused. */
export const furtherRoles: readonly (readonly InputRole[])[] = [
  ["garment", "garment2", "garment3", "garment4"],
  ["reference", "reference2", "reference3"],
];

/** A role that is given although the one before it is not, with that one; null when all are in order. */
export function findGap(
  given: ReadonlySet<string>,
): { readonly role: InputRole; readonly before: InputRole } | null {
  for (const row of furtherRoles)
    for (const [at, role] of row.entries()) {
      const before = row[at - 1];
      if (before !== undefined && given.has(role) && !given.has(before)) return { role, before };
    }
  return null;
}

const roles = (required: readonly InputRole[], optional: readonly InputRole[] = []): Roles => ({
  required,
  optional,
});

/** The images that each kind takes, by role. */
const rolesByKind = {
  outfit_change: roles(["person", "garment"], ["garment2", "garment3", "garment4", "mask"]),
  upscale: roles(["image"]),
  inpaint: roles(["image", "mask"]),
  remove_background: roles(["image"], ["background"]),
  text_to_image: roles([], ["reference", "reference2", "reference3", "style", "structure", "face"]),
  edit: roles(["image"], ["reference", "reference2", "reference3", "mask"]),
  restore_faces: roles(["image"]),
  /** Its result is a mask. */
  segment: roles(["image"]),
  adjust: roles(["image"]),
  crop: roles(["image"]),
  restore: roles(["image", "base", "mask"]),
  expand: roles(["image"]),
} as const satisfies Record<JobKind, Roles>;

/** The kinds that generate nothing (`server/retouch`): what they make of an upload is no work of an AI. */
export const plainKinds = ["adjust", "crop", "restore"] as const satisfies readonly JobKind[];

export function isPlainKind(kind: JobKind): kind is (typeof plainKinds)[number] {
  return plainKinds.some((plain) => plain === kind);
}

/** The kinds that can have workflows: a model makes their result. */
export const workflowKinds = jobKinds.filter((kind) => !isPlainKind(kind));

export const requiredInputs = (kind: JobKind): readonly InputRole[] => rolesByKind[kind].required;
export const optionalInputs = (kind: JobKind): readonly InputRole[] => rolesByKind[kind].optional;

export type EngineName = "comfyui" | "iopaint" | "local" | "cloud";

/** What an engine can do; no I/O, so that web and worker agree on it. */
interface EngineFacts {
  readonly name: EngineName;
  readonly kinds: readonly JobKind[];
}

/**
 * Own engines that can do each kind, the best first; the kinds of each engine are read from here. Only a workflow of one's
 * own makes ComfyUI restore faces, and it was added because it is preferred.
 */
const byKind: Record<JobKind, readonly OwnEngine[]> = {
  text_to_image: ["comfyui"],
  edit: ["comfyui"],
  outfit_change: ["comfyui", "local"],
  inpaint: ["iopaint", "local", "comfyui"],
  upscale: ["comfyui", "iopaint", "local"],
  remove_background: ["comfyui", "iopaint", "local"],
  restore_faces: ["comfyui", "iopaint"],
  segment: ["comfyui", "iopaint", "local"],
  adjust: ["local"],
  crop: ["local"],
  restore: ["local"],
  expand: ["comfyui"],
};

type OwnEngine = Exclude<EngineName, "cloud">;

function ownEngine(name: OwnEngine): EngineFacts {
  return { name, kinds: jobKinds.filter((kind) => byKind[kind].includes(name)) };
}

/** The engine that ships with the product and needs nothing but the CPU. */
export const localEngine: EngineFacts = ownEngine("local");

/** Runs workflows on ComfyUI servers; which of the kinds a server can run depends on its nodes and models. */
export const comfyuiEngine: EngineFacts = ownEngine("comfyui");

/** Which of the kinds an IOPaint server can run depends on its model and plugins. */
export const iopaintEngine: EngineFacts = ownEngine("iopaint");

/** Models of image providers; which of them can run depends on the keys that the nodes hold. */
export const cloudEngine: EngineFacts = {
  name: "cloud",
  kinds: ["text_to_image", "edit", "outfit_change", "inpaint", "upscale", "remove_background"],
};

/** The queue of all jobs for providers. It has no class of hardware, and its slots are for submits. */
export const cloudQueue = "cloud";

export const engines: readonly EngineFacts[] = [comfyuiEngine, iopaintEngine, localEngine, cloudEngine];
export const engineNames = ["comfyui", "iopaint", "local", "cloud"] as const satisfies readonly EngineName[];

/** Limit of a result's pixels; checked before submit and again by the engine. */
export const maxOutputPixels = pictureLimits.outputMegapixels * 1_000_000;

/** What a job needs in order to run, as one text: `comfyui/<workflow>`, `cloud/<model>`, `iopaint/<kind>` or `local/<kind>`. */
export type Need = `${EngineName}/${string}`;

export function needOf(job: {
  engine: EngineName;
  kind: JobKind;
  workflow: string | null;
  model?: string | null;
}): Need {
  if (job.engine === "comfyui") return `comfyui/${job.workflow ?? ""}`;
  return job.engine === "cloud" ? `cloud/${job.model ?? ""}` : `${job.engine}/${job.kind}`;
}

/** Parts of a request that not every engine supports. */
interface EngineRequest {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** Own engines that support the request in general, best first; the pool knows which are available now. */
export function enginesFor(request: EngineRequest): readonly OwnEngine[] {
  if (isLocalCutOut(request)) return ["local"];
  return byKind[request.kind].filter((engine) => engine === "comfyui" || canRun(engine, request));
}

/** Whether a named engine can do this at all; a prompt that it does not read is no reason against it. */
export function canEngineRun(engine: EngineName, { kind, params, roles }: EngineRequest): boolean {
  if (isLocalCutOut({ kind, params, roles })) return engine === "local";
  if (engine === "cloud") return cloudEngine.kinds.includes(kind);
  if (!byKind[kind].some((name) => name === engine)) return false;
  return engine === "comfyui" || canRun(engine, { kind, params: { ...params, prompt: undefined }, roles });
}

/** Only the local engine sees whether it is a garment by itself, and lays what was cut out on another ground. */
export function isLocalCutOut({ kind, params, roles }: EngineRequest): boolean {
  if (kind !== "remove_background") return false;
  return params["subject"] === "garment" || params["colour"] !== undefined || roles.has("background");
}

/** By what a selection is asked for. */
export const selectionMeans = ["clicks", "box", "prompt", "subject"] as const;
export type SelectionMeans = (typeof selectionMeans)[number];

/** The means that the engines without workflows know. */
const meansOfEngine = { iopaint: "clicks", local: "subject" } as const satisfies Record<
  string,
  SelectionMeans
>;

/**
 * Engines without workflows take no prompt and no mask for an outfit, and select by one means; the local engine upscales by
 * 2 only.
 */
function canRun(engine: "iopaint" | "local", { kind, params, roles }: EngineRequest): boolean {
  if (kind === "segment") return params[meansOfEngine[engine]] !== undefined;
  if (params["prompt"] !== undefined && params["prompt"] !== "") return false;
  if (kind === "outfit_change" && (roles.has("mask") || roles.has("garment2"))) return false;
  return !(engine === "local" && kind === "upscale" && params["scale"] !== 2);
}

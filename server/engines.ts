import { type JobKind, jobKinds } from "./platform/names.ts";
import { pictureLimits } from "./platform/picture-limits.ts";

export { type JobKind, jobKinds };

interface Roles {
  readonly required: readonly InputRole[];
  readonly optional: readonly InputRole[];
}

export type InputRole = "person" | "garment" | "image" | "reference" | "mask";

const roles = (required: readonly InputRole[], optional: readonly InputRole[] = []): Roles => ({
  required,
  optional,
});

/** The images that each kind takes, by role. */
const rolesByKind = {
  outfit_change: roles(["person", "garment"], ["mask"]),
  upscale: roles(["image"]),
  inpaint: roles(["image", "mask"]),
  remove_background: roles(["image"]),
  text_to_image: roles([]),
  edit: roles(["image"], ["reference", "mask"]),
  restore_faces: roles(["image"]),
  /** Its result is a mask. */
  segment: roles(["image"]),
} as const satisfies Record<JobKind, Roles>;

/** The kinds whose result is a picture of the gallery; only these can have workflows. */
export const pictureKinds = jobKinds.filter((kind) => kind !== "segment");

export const requiredInputs = (kind: JobKind): readonly InputRole[] => rolesByKind[kind].required;
export const optionalInputs = (kind: JobKind): readonly InputRole[] => rolesByKind[kind].optional;

export type EngineName = "comfyui" | "iopaint" | "local" | "cloud";

/** What an engine can do; no I/O, so that web and worker agree on it. */
interface EngineFacts {
  readonly name: EngineName;
  readonly kinds: readonly JobKind[];
}

/** The engine that ships with the product and needs nothing but the CPU. */
export const localEngine: EngineFacts = {
  name: "local",
  kinds: ["outfit_change", "upscale", "inpaint", "remove_background"],
};

/** Runs workflows on ComfyUI servers; which of the kinds a server can run depends on its nodes and models. */
export const comfyuiEngine: EngineFacts = {
  name: "comfyui",
  kinds: ["text_to_image", "outfit_change", "inpaint", "upscale", "edit"],
};

/** Which of the kinds an IOPaint server can run depends on its model and plugins. */
export const iopaintEngine: EngineFacts = {
  name: "iopaint",
  kinds: ["inpaint", "upscale", "remove_background", "restore_faces", "segment"],
};

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

/** Own engines by how well they do a kind, the best first; whether a provider does it instead is a question of policy. */
const byKind: Record<JobKind, readonly OwnEngine[]> = {
  text_to_image: ["comfyui"],
  edit: ["comfyui"],
  outfit_change: ["comfyui", "local"],
  inpaint: ["iopaint", "local", "comfyui"],
  upscale: ["comfyui", "iopaint", "local"],
  remove_background: ["iopaint", "local"],
  restore_faces: ["iopaint"],
  segment: ["iopaint"],
};

type OwnEngine = Exclude<EngineName, "cloud">;

/** Parts of a request that not every engine supports. */
interface EngineRequest {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** Own engines that support the request in general, best first; the pool knows which are available now. */
export function enginesFor(request: EngineRequest): readonly OwnEngine[] {
  return byKind[request.kind].filter((engine) => engine === "comfyui" || canRun(engine, request));
}

/** Engines without workflows take no prompt and no mask for an outfit; the local engine upscales by 2 only. */
function canRun(engine: "iopaint" | "local", { kind, params, roles }: EngineRequest): boolean {
  if (params["prompt"] !== undefined && params["prompt"] !== "") return false;
  if (kind === "outfit_change" && roles.has("mask")) return false;
  return !(engine === "local" && kind === "upscale" && params["scale"] !== 2);
}

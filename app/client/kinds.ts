import type { JobKind } from "@atelier/server/engines";

/** The kinds in the order in which filters offer them. */
export const jobKindOrder = [
  "outfit_change",
  "text_to_image",
  "edit",
  "inpaint",
  "upscale",
  "remove_background",
  "restore_faces",
  "segment",
  "adjust",
  "crop",
  "restore",
  "expand",
] as const satisfies readonly JobKind[];

/** Parses a job kind; undefined for any other text. */
export function readKind(text: string | null): JobKind | undefined {
  return jobKindOrder.find((kind) => kind === text);
}

interface KindAndParams {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Label of a job: inpaint with a prompt is "Replace with prompt", without one "Remove object". */
export function shownKind({ kind, params }: KindAndParams): JobKind | "removal" | "repainting" {
  if (kind !== "inpaint") return kind;
  return typeof params.prompt === "string" && params.prompt !== "" ? "repainting" : "removal";
}

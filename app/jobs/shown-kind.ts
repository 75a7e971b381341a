import type { JobKind } from "@atelier/server/engines";

interface Asked {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
}

/** As what a job is named: retouching with words repaints, without words it takes something away. */
export function shownKind({ kind, params }: Asked): JobKind | "removal" | "repainting" {
  if (kind !== "inpaint") return kind;
  return typeof params.prompt === "string" && params.prompt !== "" ? "repainting" : "removal";
}

import type { JobKind } from "@atelier/server/engines";

interface Asked {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
}

/** As what a job is named: painting over without words takes something away. */
export function shownKind({ kind, params }: Asked): JobKind | "removal" {
  const { prompt } = params;
  return kind === "inpaint" && (typeof prompt !== "string" || prompt === "") ? "removal" : kind;
}

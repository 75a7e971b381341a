import type { JobView } from "@atelier/server/jobs";
import type { Sized } from "../../gallery/layout-rows.ts";

const unknown = 1_024;
const numberOr = (value: unknown, otherwise: number) => (typeof value === "number" ? value : otherwise);

/** How large a job's picture is, or will be: it keeps its place when it is done. */
export function sizeOfJob({ params, outputs }: Pick<JobView, "params" | "outputs">): Sized {
  const [output] = outputs;
  if (output !== undefined) return output;
  return { widthPx: numberOr(params.width, unknown), heightPx: numberOr(params.height, unknown) };
}

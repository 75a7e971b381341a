import type { Times as Figures } from "@atelier/server/monitoring";
import { formatSpan } from "./span.ts";

/** Median and 95th percentile of a time. */
export function Times({ times: { p50, p95 } }: { readonly times: Figures }) {
  if (p50 === null || p95 === null) return <span className="text-quiet">–</span>;
  return (
    <>
      {formatSpan(p50)}
      <span className="text-quiet"> / </span>
      {formatSpan(p95)}
    </>
  );
}

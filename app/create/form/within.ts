import type { OfferedParam } from "../../data/use-workflows.ts";

/** The nearest number that a setting of a workflow accepts. */
export function within(value: number, param: OfferedParam): number {
  const step = param.multipleOf ?? (param.type === "integer" ? 1 : 0);
  const min = param.min ?? 0;
  const max = param.max ?? Number.MAX_SAFE_INTEGER;
  const bounded = Math.min(max, Math.max(min, value));
  if (step === 0) return bounded;
  const lowest = Math.ceil(min / step) * step;
  const highest = Math.floor(max / step) * step;
  return Math.min(highest, Math.max(lowest, Math.round(bounded / step) * step));
}

/** A number that was set, within the range; else the workflow's own. Undefined where it has none. */
export function settingOf(param: OfferedParam | undefined, own: number | undefined): number | undefined {
  if (param === undefined || param.type === "text" || param.type === "seed") return undefined;
  if (own !== undefined) return within(own, param);
  return typeof param.default === "number" ? param.default : undefined;
}

import { isObject } from "../json.ts";

const times = ["timestamp", "create_time", "execution_start_time", "execution_end_time"];
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const tempName = /ComfyUI_temp_[a-z]{5}_/g;

/**
 * Takes out what differs from run to run, so that the rest must be equal: ids are numbered in the order in which
 * they appear, times are 0, sets that Python puts in any order are sorted, help texts and tracebacks go.
 */
export function settle(value: unknown): unknown {
  const ids = new Map<string, string>();
  const name = (id: string) => {
    const known = ids.get(id) ?? `id-${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  const text = (found: string) => found.replaceAll(uuid, name).replaceAll(tempName, "ComfyUI_temp_xxxxx_");
  const visit = (found: unknown): unknown => {
    if (typeof found === "string") return text(found);
    if (Array.isArray(found)) return found.map(visit);
    return isObject(found) ? settleObject(found, visit, text) : found;
  };
  return visit(value);
}

function settleObject(
  found: Record<string, unknown>,
  visit: (value: unknown) => unknown,
  text: (value: string) => string,
): Record<string, unknown> {
  const settled: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(found)) {
    if (key === "tooltip") continue;
    if (times.includes(key)) settled[key] = 0;
    else if (key === "traceback") settled[key] = Array.isArray(value) ? "lines" : value;
    else if (key === "len") settled[key] = typeof value;
    else settled[text(key)] = sortSet(key, visit(value));
  }
  return settled;
}

const sets = ["dependent_outputs", "current_outputs", "errors"];

function sortSet(key: string, value: unknown): unknown {
  if (!sets.includes(key) || !Array.isArray(value)) return value;
  return value.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
}

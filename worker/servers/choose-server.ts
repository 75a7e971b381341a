import type { ServerEntry } from "./server-entry.ts";
import { conditionOf, isFree, needsOf } from "./server-entry.ts";
import type { AcquireInput } from "./server-pool.ts";

/** `busy`: some server can run it, but none is free. `none`: no server can run it now. */
export type Choice = ServerEntry | "busy" | "none";

/** The preferred server, else the one with the fewest jobs in its own queue, of equals the one served longest ago. */
export function chooseServer(
  entries: Iterable<ServerEntry>,
  { need, avoid, prefer }: Pick<AcquireInput, "need" | "avoid" | "prefer">,
): Choice {
  const able = [...entries].filter(
    (entry) =>
      conditionOf(entry) === "healthy" && needsOf(entry).includes(need) && !avoid.includes(entry.found.url),
  );
  if (able.length === 0) return "none";
  const free = able.filter(isFree);
  const preferred = free.find((entry) => entry.found.url === prefer);
  return preferred ?? free.toSorted(inTurn)[0] ?? "busy";
}

/** The server itself, once it answers and its place is free; `isPatient`: it is waited for while it does not answer. */
export function chooseHolder(entry: ServerEntry | undefined, isPatient: boolean): Choice {
  if (!entry || (entry.health.link !== "up" && !isPatient)) return "none";
  return entry.health.link === "up" && entry.jobId === null ? entry : "busy";
}

function inTurn(a: ServerEntry, b: ServerEntry): number {
  return (
    Number(a.found.isBackup) - Number(b.found.isBackup) || a.othersQueued - b.othersQueued || a.turn - b.turn
  );
}

import { jobKinds, type JobKind } from "@atelier/server/engines";
import { AppError, type Env } from "@atelier/server/platform";
import type { Engine } from "../engines/index.ts";

/** The kinds that WORKER_ONLY names; what the engines here can never run is refused by name. */
export function parseOnly(env: Env, engines: readonly Engine[]): JobKind[] {
  const known = jobKinds.filter((kind) => engines.some((engine) => engine.kinds.includes(kind)));
  const unknown = env.WORKER_ONLY.filter((name) => !known.some((kind) => kind === name));
  if (unknown.length > 0) {
    throw new AppError(
      "bad_request",
      `WORKER_ONLY names kinds that no engine here can run: ${unknown.join(", ")}. Known: ${known.join(", ")}.`,
    );
  }
  return known.filter((kind) => env.WORKER_ONLY.includes(kind));
}

import { engines, jobKinds, type JobKind } from "@atelier/server/engines";
import type { Env } from "@atelier/server/platform";

/** The kinds that a worker with this environment could ever take; without servers those of this computer's engine. */
export function possibleKinds(
  env: Pick<Env, "COMFYUI_URLS" | "COMFYUI_DISCOVERY" | "IOPAINT_URLS">,
): JobKind[] {
  const sources = [env.COMFYUI_URLS, env.COMFYUI_DISCOVERY, env.IOPAINT_URLS];
  const hasServers = sources.some((list) => list.length > 0);
  const known = engines.filter(({ name }) => hasServers || name === "local").flatMap(({ kinds }) => kinds);
  return jobKinds.filter((kind) => known.includes(kind));
}

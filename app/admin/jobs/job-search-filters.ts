import type { ErrorCode } from "@atelier/server/platform";
import { readKind } from "../../jobs/job-kinds.ts";

export const statuses = [
  "open",
  "pending",
  "queued",
  "waiting_for_engine",
  "processing",
  "completed",
  "failed",
  "cancelled",
] as const;

/** Causes that a job can fail for once it was accepted. */
export const causes = [
  "displaced",
  "engine_blocked",
  "engine_crashed",
  "engine_failed",
  "engine_interrupted",
  "engine_timeout",
  "garment_unsuitable",
  "gpu_out_of_memory",
  "graph_invalid",
  "input_missing",
  "internal",
  "mask_empty",
  "model_missing",
  "no_person_found",
  "node_missing",
  "out_of_memory",
  "person_unsuitable",
  "proxy_error",
  "server_busy",
  "server_lost",
  "storage_unavailable",
  "worker_lost",
] as const satisfies readonly ErrorCode[];

const words = ["text", "owner", "queue", "node", "server"] as const;
export const filterNames = [...words, "status", "kind", "code"] as const;

/** Reads the filters of the address; what it does not know is left out. */
export function readSearch(params: URLSearchParams) {
  const texts = words.flatMap((name) => {
    const value = params.get(name)?.trim();
    return value ? [[name, value] as const] : [];
  });
  const code = params.get("code");
  return {
    ...(Object.fromEntries(texts) as Partial<Record<(typeof words)[number], string>>),
    status: statuses.find((status) => status === params.get("status")),
    kind: readKind(params.get("kind")),
    // Safe: the server refuses what is not a code of its table.
    code: code === null || code === "" ? undefined : (code as ErrorCode),
  };
}

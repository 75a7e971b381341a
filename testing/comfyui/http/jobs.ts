import { isObject, parseJson, textsOf } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import { note } from "../server/stats.ts";
import { broadcastStatus } from "../socket/send.ts";
import { json, type Answer } from "./answer.ts";
import { integerOf, type Call } from "./call.ts";
import { listShownJobs, showJob, type ShownJob } from "./show-job.ts";

/** GET /api/jobs. */
export function listJobs({ comfy, query }: Call): Answer {
  const valid = ["pending", "in_progress", "completed", "failed"];
  if (comfy.options.mode === "new") valid.push("cancelled");
  const wanted = query.get("status")?.split(",").filter(Boolean) ?? [];
  const wrong = wanted.filter((status) => !valid.includes(status));
  if (wrong.length > 0) {
    const problem = `Invalid status value(s): ${wrong.join(", ")}. Valid values: ${valid.join(", ")}`;
    return json({ error: problem }, 400);
  }
  const problem = problemOf(query);
  if (problem) return json({ error: problem }, 400);
  const workflow = query.get("workflow_id");
  const found = listShownJobs(comfy)
    .filter((job) => wanted.length === 0 || wanted.includes(job.status))
    .filter((job) => workflow === null || job.workflow_id === workflow);
  const sorted = sortJobs(found, query);
  const offset = Math.max(0, integerOf(query, "offset") ?? 0);
  const limit = integerOf(query, "limit");
  const jobs = sorted.slice(offset, limit === null ? undefined : offset + limit);
  const hasMore = offset + jobs.length < sorted.length;
  return json({ jobs, pagination: { offset, limit, total: sorted.length, has_more: hasMore } });
}

/** What is wrong with the numbers or the order asked for. */
function problemOf(query: URLSearchParams): string | null {
  for (const name of ["limit", "offset"]) {
    if (!/^\s*[+-]?\d+\s*$/.test(query.get(name) ?? "0")) return `${name} must be an integer`;
  }
  if ((integerOf(query, "limit") ?? 1) <= 0) return "limit must be a positive integer";
  const sorts = ["created_at", "execution_duration"];
  if (!sorts.includes(query.get("sort_by") ?? "created_at")) {
    return "sort_by must be 'created_at' or 'execution_duration'";
  }
  const isOrder = ["asc", "desc"].includes(query.get("sort_order") ?? "desc");
  return isOrder ? null : "sort_order must be 'asc' or 'desc'";
}

function sortJobs(jobs: readonly ShownJob[], query: URLSearchParams): ShownJob[] {
  const isByDuration = query.get("sort_by") === "execution_duration";
  const direction = query.get("sort_order") === "asc" ? 1 : -1;
  const key = (job: ShownJob) =>
    isByDuration ? (job.execution_end_time ?? 0) - (job.execution_start_time ?? 0) : job.create_time;
  return jobs.toSorted((one, other) => direction * (key(one) - key(other)));
}

/** GET /api/jobs/{id}. */
export function getJob({ comfy, params: [id = ""] }: Call): Answer {
  const job = showJob(comfy, id);
  return job ? json(job) : json({ error: "Job not found" }, 404);
}

/** POST /api/jobs/{id}/cancel, of the newer line only: out of the line, or interrupted. */
export function cancelJob({ comfy, params: [id = ""] }: Call): Answer {
  return json({ cancelled: cancelOne(comfy, id) });
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** POST /api/jobs/cancel. */
export async function cancelJobs(call: Call): Promise<Answer> {
  const body = parseJson((await call.readBody()).toString());
  const given = isObject(body) ? body.job_ids : null;
  const ids = textsOf(given);
  if (!Array.isArray(given) || given.length !== ids.length || !ids.every((id) => uuid.test(id))) {
    return json({ error: "job_ids must be a list of UUIDs" }, 400);
  }
  return json({ cancelled: ids.filter((id) => cancelOne(call.comfy, id)) });
}

function cancelOne({ session, ledger, faults }: Comfy, id: string): boolean {
  const waiting = session.pending.find((item) => item.promptId === id);
  if (waiting) {
    session.pending.splice(session.pending.indexOf(waiting), 1);
    note(ledger, id, "deleted");
    broadcastStatus(session);
    return true;
  }
  if (session.running?.promptId !== id) return false;
  if (!faults.take("interrupt-lost")) session.running.interrupt.abort();
  return true;
}

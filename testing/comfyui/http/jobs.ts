import { isObject, type JsonObject, objectOf, parseJson, textsOf } from "../options.ts";
import type { Comfy, HistoryEntry, QueueItem } from "../server/session.ts";
import { note } from "../server/stats.ts";
import { broadcastStatus } from "../socket.ts";
import { type Answer, type Call, empty, integerOf, json, membersOf, readJson } from "./answer.ts";
import { queueRow } from "./queue.ts";

/** GET /history. */
export function listHistory({ comfy, query }: Call): Answer {
  const entries = [...comfy.session.history].filter(([, entry]) => isVisible(entry));
  const most = integerOf(query, "max_items") ?? entries.length;
  const offset = integerOf(query, "offset") ?? -1;
  const start = offset < 0 ? Math.max(0, entries.length - most) : offset;
  const chosen = entries.slice(start, start + most);
  return json(Object.fromEntries(chosen.map(([id, entry]) => [id, historyEntry(entry)])));
}

/** GET /history/{id}: empty while unknown or unfinished. */
export function getHistory({ comfy, params: [id = ""] }: Call): Answer {
  const entry = comfy.session.history.get(id);
  return json(entry && isVisible(entry) ? { [id]: historyEntry(entry) } : {});
}

/** POST /history: forgets; files stay. */
export async function postHistory(call: Call): Promise<Answer> {
  const body = membersOf(await readJson(call));
  const { history } = call.comfy.session;
  if (body.clear) history.clear();
  for (const id of textsOf(body.delete)) history.delete(id);
  return empty(200);
}

function isVisible(entry: HistoryEntry): boolean {
  return entry.visibleAt <= Date.now();
}

function historyEntry({ item, outputs, status, meta }: HistoryEntry) {
  return { prompt: queueRow(item), outputs, status, meta };
}

/** A job of the jobs API; absent fields are left out. */
interface ShownJob extends JsonObject {
  readonly id: string;
  readonly status: string;
  readonly create_time: number;
  readonly execution_start_time?: number;
  readonly execution_end_time?: number;
  readonly workflow_id?: string;
}

/** Running, waiting and finished jobs, without their details. */
function listShownJobs({ session, options }: Comfy): ShownJob[] {
  const running = session.running ? [showItem(session.running, "in_progress")] : [];
  const pending = session.pending.map((item) => showItem(item, "pending"));
  return [...running, ...pending, ...[...session.history.values()].map((entry) => showEntry(entry, options))];
}

/** One job, a finished one with outputs, status and graph; null when it is unknown. */
function showJob(comfy: Comfy, id: string): ShownJob | null {
  const { session, options } = comfy;
  const entry = session.history.get(id);
  if (entry) {
    const details = { outputs: entry.outputs, execution_status: entry.status };
    return { ...showEntry(entry, options), ...details, workflow: workflowOf(entry.item) };
  }
  const item = [session.running, ...session.pending].find((found) => found?.promptId === id);
  if (!item) return null;
  const status = item === session.running ? "in_progress" : "pending";
  return showItem(item, status);
}

function workflowOf(item: QueueItem) {
  return { prompt: item.graph, extra_data: item.extraData };
}

function showItem(item: QueueItem, status: string): ShownJob {
  const workflow = objectOf(objectOf(item.extraData.extra_pnginfo).workflow).id;
  return {
    id: item.promptId,
    status,
    priority: item.number,
    create_time: Number(item.extraData.create_time),
    outputs_count: 0,
    ...(typeof workflow === "string" ? { workflow_id: workflow } : {}),
  };
}

function showEntry(entry: HistoryEntry, { mode }: Comfy["options"]): ShownJob {
  const { item, outputs, status } = entry;
  const found = (event: string) => status.messages.find(([name]) => name === event)?.[1];
  const error = found("execution_error");
  const interrupted = found("execution_interrupted");
  const end = found("execution_success") ?? error ?? interrupted;
  const failed = interrupted && mode === "new" ? "cancelled" : "failed";
  const files = Object.entries(outputs).flatMap(([nodeId, ui]) => filesOf(nodeId, ui));
  const preview = files.find((file) => file.type === "output") ?? files[0];
  return {
    ...showItem(item, status.status_str === "success" ? "completed" : failed),
    execution_start_time: Number(found("execution_start")?.timestamp),
    execution_end_time: Number(end?.timestamp),
    ...(error ? { execution_error: error } : {}),
    outputs_count: files.length,
    ...(preview ? { preview_output: preview } : {}),
  };
}

function filesOf(nodeId: string, ui: JsonObject): JsonObject[] {
  return Object.entries(ui).flatMap(([mediaType, list]) =>
    Array.isArray(list) ? list.filter(isObject).map((file) => ({ ...file, nodeId, mediaType })) : [],
  );
}

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

import { isObject, objectOf, type JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import type { HistoryEntry, QueueItem } from "../server/session.ts";

/** A job of the jobs API; absent fields are left out. */
export interface ShownJob extends JsonObject {
  readonly id: string;
  readonly status: string;
  readonly create_time: number;
  readonly execution_start_time?: number;
  readonly execution_end_time?: number;
  readonly workflow_id?: string;
}

/** Running, waiting and finished jobs, without their details. */
export function listShownJobs({ session, options }: Comfy): ShownJob[] {
  const running = session.running ? [showItem(session.running, "in_progress")] : [];
  const pending = session.pending.map((item) => showItem(item, "pending"));
  return [...running, ...pending, ...[...session.history.values()].map((entry) => showEntry(entry, options))];
}

/** One job, a finished one with outputs, status and graph; null when it is unknown. */
export function showJob(comfy: Comfy, id: string): ShownJob | null {
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

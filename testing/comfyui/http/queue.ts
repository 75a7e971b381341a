import { randomUUID } from "node:crypto";
import { pythonText } from "../graph/classes.ts";
import { type NodeErrors, validateGraph, type Validation } from "../graph/validate.ts";
import { isObject, type JsonObject, objectOf, parseJson, textsOf } from "../options.ts";
import { enqueue } from "../queue/queue.ts";
import { type Comfy, type QueueItem, queueRemaining } from "../server/session.ts";
import { note } from "../server/stats.ts";
import { broadcastStatus } from "../socket.ts";
import { type Answer, type Call, empty, json, membersOf, readJson, serverTrouble } from "./answer.ts";

/** GET /prompt: how many are left. */
export function getPrompt({ comfy }: Call): Answer {
  return json({ exec_info: { queue_remaining: queueRemaining(comfy.session) } });
}

/** GET /queue, with the whole graphs. */
export function getQueue({ comfy }: Call): Answer {
  const { running, pending } = comfy.session;
  return json({ queue_running: running ? [queueRow(running)] : [], queue_pending: pending.map(queueRow) });
}

/** An item as lists show it. */
export function queueRow(item: QueueItem): unknown[] {
  return [item.number, item.promptId, item.graph, item.extraData, item.outputs];
}

/** POST /queue: takes waiting prompts out, one per id; unknown ids are passed over. */
export async function postQueue(call: Call): Promise<Answer> {
  const body = membersOf(await readJson(call));
  const { session, ledger } = call.comfy;
  if (body.clear) {
    for (const item of session.pending.splice(0)) note(ledger, item.promptId, "deleted");
    broadcastStatus(session);
  }
  for (const id of textsOf(body.delete)) {
    const at = session.pending.findIndex((item) => item.promptId === id);
    if (at < 0) continue;
    session.pending.splice(at, 1);
    note(ledger, id, "deleted");
    broadcastStatus(session);
  }
  return empty(200);
}

/** POST /interrupt: what runs, or this id if it runs; always 200. */
export async function postInterrupt(call: Call): Promise<Answer> {
  const given = parseJson((await call.readBody()).toString()) ?? {};
  if (!isObject(given)) return serverTrouble;
  const body = given;
  const { running } = call.comfy.session;
  call.comfy.ledger.counts.interrupts += 1;
  const isMeant = running && (!body.prompt_id || body.prompt_id === running.promptId);
  if (isMeant && !call.comfy.faults.take("interrupt-lost")) running.interrupt.abort();
  return empty(200);
}

/** POST /free: a full card is free again, and nothing is cached any more. */
export async function postFree(call: Call): Promise<Answer> {
  const body = await readJson(call);
  if (!isObject(body)) return serverTrouble;
  const { comfy } = call;
  comfy.ledger.counts.frees += 1;
  if (body.unload_models || body.free_memory) comfy.faults.free();
  if (body.free_memory) {
    comfy.session.cache = new Map();
    comfy.session.tempLetters.clear();
  }
  return empty(200);
}

/** POST /prompt: checks the graph and puts it into the line. The counter rises on refusals too. */
export async function postPrompt(call: Call): Promise<Answer> {
  const body = membersOf(await readJson(call));
  const { comfy } = call;
  const number = drawNumber(comfy, body);
  if (!("prompt" in body)) return refuse(comfy, "no_prompt", "No prompt provided");
  const prompt = promptOf(body.prompt);
  const promptId = readPromptId(comfy, body.prompt_id);
  if (promptId === null) return refuse(comfy, "invalid_prompt_id", "prompt_id must be a valid UUID");
  const targets = Array.isArray(body.partial_execution_targets)
    ? textsOf(body.partial_execution_targets)
    : null;
  const validation = validateGraph(comfy, prompt, targets);
  if (validation.error) {
    comfy.ledger.counts.refused += 1;
    return json({ error: validation.error, node_errors: validation.nodeErrors }, 400);
  }
  const item = makeItem(body, { number, promptId }, validation);
  remember(comfy, item);
  enqueue(comfy, item);
  const nodeErrors = comfy.faults.take("node-errors-with-200")
    ? inventErrors(validation)
    : validation.nodeErrors;
  return json({ prompt_id: promptId, number, node_errors: nodeErrors });
}

function drawNumber({ session }: Comfy, body: JsonObject): number {
  if ("number" in body) return floatOf(body.number);
  const drawn = session.counter;
  session.counter += 1;
  return body.front ? -drawn : drawn;
}

/** Python's float(). */
function floatOf(value: unknown): number {
  const isNumber = typeof value === "number" || typeof value === "boolean";
  const found = isNumber || (typeof value === "string" && value.trim() !== "") ? Number(value) : Number.NaN;
  if (Number.isNaN(found)) throw new TypeError("float() argument must be a string or a real number");
  return found;
}

/** An empty list or text holds no nodes; other things are no graph and lead to a 500. */
function promptOf(value: unknown): JsonObject {
  if (isObject(value)) return value;
  if (value === "" || (Array.isArray(value) && value.length === 0)) return {};
  throw new TypeError("indices must be integers");
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function readPromptId(comfy: Comfy, given: unknown): string | null {
  const isStrict = comfy.options.mode === "new";
  const isMissing = given === undefined || (given === null && isStrict);
  if (isMissing || comfy.faults.take("own-prompt-id")) return randomUUID();
  const id = typeof given === "string" ? given : pythonText(given);
  return !isStrict || uuid.test(id) ? id : null;
}

function refuse(comfy: Comfy, type: string, message: string): Answer {
  comfy.ledger.counts.refused += 1;
  return json({ error: { type, message, details: message, extra_info: {} }, node_errors: {} }, 400);
}

function makeItem(
  body: JsonObject,
  { number, promptId }: { number: number; promptId: string },
  { graph, outputs }: Validation,
): QueueItem {
  const clientId = (body.client_id ?? null) === null ? null : String(body.client_id);
  if ("extra_data" in body && !isObject(body.extra_data)) throw new TypeError("no item assignment");
  const extraData: JsonObject = { ...objectOf(body.extra_data) };
  delete extraData.api_key_comfy_org;
  delete extraData.auth_token_comfy_org;
  if ("client_id" in body) extraData.client_id = body.client_id;
  extraData.create_time = Date.now();
  return { number, promptId, clientId, graph, extraData, outputs, interrupt: new AbortController() };
}

function remember({ ledger }: Comfy, { promptId, clientId, graph }: QueueItem): void {
  const story = ledger.stories.get(promptId);
  if (story) story.posted += 1;
  else {
    const none = { started: 0, finished: 0, failed: 0, interrupted: 0, deleted: 0, lost: 0 };
    ledger.stories.set(promptId, { promptId, clientId, graph, posted: 1, ...none });
  }
}

function inventErrors({ graph, outputs }: Validation): Record<string, NodeErrors> {
  const [output = ""] = outputs;
  const error = {
    type: "required_input_missing",
    message: "Required input is missing",
    details: "images",
    extra_info: { input_name: "images" },
  };
  const classType = graph[output]?.class_type ?? "";
  return { [output]: { errors: [error], dependent_outputs: [output], class_type: classType } };
}

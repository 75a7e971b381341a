import { randomUUID } from "node:crypto";
import { pythonText } from "../graph/python-text.ts";
import { validateGraph, type NodeErrors, type Validation } from "../graph/validate-graph.ts";
import { isObject, objectOf, textsOf, type JsonObject } from "../json.ts";
import { enqueue } from "../queue/queue.ts";
import type { Comfy } from "../server/comfy.ts";
import type { QueueItem } from "../server/session.ts";
import { json, type Answer } from "./answer.ts";
import { membersOf, readJson, type Call } from "./call.ts";

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

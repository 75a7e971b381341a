import { objectOf, parseJson, textsOf } from "../json.ts";
import { queueRemaining, type QueueItem } from "../server/session.ts";
import { note } from "../server/stats.ts";
import { broadcastStatus } from "../socket/send.ts";
import { empty, json, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";

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

/** POST /queue: takes waiting prompts out; unknown ids are passed over. */
export async function postQueue(call: Call): Promise<Answer> {
  const body = objectOf(parseJson((await call.readBody()).toString()));
  const { session, ledger } = call.comfy;
  const ids = textsOf(body.delete);
  const isLeaving = (item: QueueItem) => body.clear === true || ids.includes(item.promptId);
  const leaving = session.pending.filter(isLeaving);
  for (const item of leaving) {
    session.pending.splice(session.pending.indexOf(item), 1);
    note(ledger, item.promptId, "deleted");
  }
  if (leaving.length > 0) broadcastStatus(session);
  return empty(200);
}

/** POST /interrupt: what runs, or this id if it runs; always 200. */
export async function postInterrupt(call: Call): Promise<Answer> {
  const body = objectOf(parseJson((await call.readBody()).toString()));
  const { running } = call.comfy.session;
  call.comfy.ledger.counts.interrupts += 1;
  const isMeant = running && (!body.prompt_id || body.prompt_id === running.promptId);
  if (isMeant && !call.comfy.faults.take("interrupt-lost")) running.interrupt.abort();
  return empty(200);
}

/** POST /free: a full card is free again, and nothing is cached any more. */
export async function postFree(call: Call): Promise<Answer> {
  const body = objectOf(parseJson((await call.readBody()).toString()));
  const { comfy } = call;
  comfy.ledger.counts.frees += 1;
  if (body.unload_models === true || body.free_memory === true) comfy.faults.free();
  if (body.free_memory === true) comfy.session.cache = new Map();
  return empty(200);
}

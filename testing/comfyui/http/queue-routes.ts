import { isObject, parseJson, textsOf } from "../json.ts";
import { queueRemaining, type QueueItem } from "../server/session.ts";
import { note } from "../server/stats.ts";
import { broadcastStatus } from "../socket/send.ts";
import { empty, json, serverTrouble, type Answer } from "./answer.ts";
import { membersOf, readJson, type Call } from "./call.ts";

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

import { isFaultKind, type Fault } from "../faults.ts";
import { isObject, objectOf, parseJson, textsOf } from "../json.ts";
import { release } from "../queue/hold.ts";
import { readStats } from "../server/stats.ts";
import { empty, json, text, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";

/** GET /sim/stats: what the server has done so far. */
export function getStats({ comfy }: Call): Answer {
  return json(readStats(comfy.ledger));
}

/** GET /sim/prompts: every prompt that was accepted, with its graph. */
export function listPrompts({ comfy }: Call): Answer {
  return json([...comfy.ledger.stories.values()]);
}

/** POST /sim/models: folder to file names, in place of all that were there. */
export async function postModels(call: Call): Promise<Answer> {
  const body = objectOf(parseJson((await call.readBody()).toString()));
  const folders = Object.entries(body).map(([folder, files]) => [folder, textsOf(files)] as const);
  call.comfy.models = Object.fromEntries(folders);
  return empty(200);
}

/** POST /sim/fault: a Fault as JSON. */
export async function postFault(call: Call): Promise<Answer> {
  const fault = parseJson((await call.readBody()).toString());
  if (!isFault(fault)) return text(400, "a fault has a known kind");
  call.comfy.faults.inject(fault);
  return empty(200);
}

/** GET /sim/fault: the faults that wait to strike. */
export function listFaults({ comfy }: Call): Answer {
  return json(comfy.faults.list());
}

/** DELETE /sim/fault: takes all back. */
export function deleteFaults({ comfy }: Call): Answer {
  comfy.faults.clear();
  return empty(200);
}

/** POST /sim/release: lets held nodes go on. */
export function postRelease({ comfy }: Call): Answer {
  release(comfy);
  return empty(200);
}

// The kind decides; the other members are the test's own affair.
function isFault(value: unknown): value is Fault {
  return isObject(value) && isFaultKind(value.kind);
}

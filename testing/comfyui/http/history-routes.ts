import { isObject, parseJson, textsOf } from "../json.ts";
import type { HistoryEntry } from "../server/session.ts";
import { empty, json, serverTrouble, type Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import { queueRow } from "./queue-routes.ts";

/** GET /history. */
export function listHistory({ comfy, query }: Call): Answer {
  const entries = [...comfy.session.history].filter(([, entry]) => isVisible(entry));
  const most = Number(query.get("max_items") ?? entries.length);
  const offset = query.get("offset");
  const start = offset === null ? Math.max(0, entries.length - most) : Number(offset);
  const chosen = entries.slice(start, start + most);
  return json(Object.fromEntries(chosen.map(([id, entry]) => [id, showEntry(entry)])));
}

/** GET /history/{id}: empty while unknown or unfinished. */
export function getHistory({ comfy, params: [id = ""] }: Call): Answer {
  const entry = comfy.session.history.get(id);
  return json(entry && isVisible(entry) ? { [id]: showEntry(entry) } : {});
}

/** POST /history: forgets; files stay. */
export async function postHistory(call: Call): Promise<Answer> {
  const body = parseJson((await call.readBody()).toString());
  if (!isObject(body)) return serverTrouble;
  const { history } = call.comfy.session;
  if (body.clear === true) history.clear();
  for (const id of textsOf(body.delete)) history.delete(id);
  return empty(200);
}

function isVisible(entry: HistoryEntry): boolean {
  return entry.visibleAt <= Date.now();
}

function showEntry({ item, outputs, status, meta }: HistoryEntry) {
  return { prompt: queueRow(item), outputs, status, meta };
}

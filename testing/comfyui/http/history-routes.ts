import { textsOf } from "../json.ts";
import type { HistoryEntry } from "../server/session.ts";
import { type Answer, empty, json } from "./answer.ts";
import { type Call, integerOf, membersOf, readJson } from "./call.ts";
import { queueRow } from "./queue-routes.ts";

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

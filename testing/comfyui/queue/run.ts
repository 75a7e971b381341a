import type { RunFault } from "../faults.ts";
import type { JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import type { HistoryMessage, QueueItem, Session } from "../server/session.ts";

/** One prompt that is being executed. */
export interface Run {
  readonly comfy: Comfy;
  readonly session: Session;
  readonly item: QueueItem;
  readonly order: readonly string[];
  readonly signatures: ReadonlyMap<string, string>;
  readonly faults: readonly RunFault[];
  readonly executed: string[];
  readonly progress: Record<string, JsonObject>;
  readonly messages: HistoryMessage[];
  readonly outputs: Record<string, JsonObject>;
  readonly meta: Record<string, JsonObject>;
}

/** The fault of this kind that strikes this prompt. */
export function faultOf<K extends RunFault["kind"]>(
  run: Run,
  kind: K,
): Extract<RunFault, { kind: K }> | undefined {
  return run.faults.find((fault): fault is Extract<RunFault, { kind: K }> => fault.kind === kind);
}

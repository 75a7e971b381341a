import type { RunFault } from "../faults.ts";
import { SessionEnded } from "../nodes/call.ts";
import type { JsonObject } from "../options.ts";
import type { Comfy, HistoryMessage, QueueItem, Session } from "../server/session.ts";
import {
  broadcast,
  broadcastBytes,
  metadataFrame,
  plainFrame,
  type Preview,
  sendBytes,
  sendTo,
  textFrame,
} from "../socket.ts";

/** One prompt that is being executed. */
export interface Run {
  readonly comfy: Comfy;
  readonly session: Session;
  readonly item: QueueItem;
  readonly order: readonly string[];
  readonly signatures: ReadonlyMap<string, string>;
  readonly faults: readonly RunFault[];
  /** Of the server, when the prompt began. */
  readonly releasesBefore: number;
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

/** Waits until somebody releases the held nodes, unless that was since the run began; throws SessionEnded when the server restarts. */
export async function hold({ comfy, session, releasesBefore }: Run): Promise<void> {
  if (comfy.releases > releasesBefore) return;
  const { signal } = session.end;
  await new Promise<void>((resolve) => {
    comfy.held.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  if (signal.aborted) throw new SessionEnded();
}

/** Lets all held nodes go on, and those of running prompts that were about to be held. */
export function release(comfy: Comfy): void {
  comfy.releases += 1;
  for (const resolve of comfy.held) resolve();
  comfy.held.clear();
}

/** What the real server addresses to nobody, and so to everybody, when the prompt was posted without a client. */
const sharedEvents: readonly string[] = ["progress", "progress_state", "execution_interrupted"];

/** Sends an event to the owner's socket; of a prompt without one, some go to all. */
export function tell(run: Run, event: string, data: JsonObject): void {
  const { clientId, promptId } = run.item;
  if (isWithheld(run, event, data)) return;
  const message = { type: event, data: { ...data, prompt_id: promptId } };
  if (clientId !== null) sendTo(run.session, clientId, message);
  else if (sharedEvents.includes(event)) broadcast(run.session, message);
}

/** Shows a text below a node: on every socket, whoever owns the prompt. */
export function tellText(run: Run, nodeId: string, text: string): void {
  if (!faultOf(run, "socket-silent")) broadcastBytes(run.session, textFrame(nodeId, text));
}

/** An event that history keeps, with its time. */
export function tellAndKeep(run: Run, event: string, data: JsonObject): void {
  const kept = { prompt_id: run.item.promptId, ...data, timestamp: Date.now() };
  run.messages.push([event, kept]);
  tell(run, event, kept);
}

/** Marks a node's progress and sends the growing list of all nodes so far. */
export function tellProgress(run: Run, nodeId: string, state: { value: number; max: number; state: string }) {
  run.progress[nodeId] = {
    ...state,
    node_id: nodeId,
    prompt_id: run.item.promptId,
    display_node_id: nodeId,
    parent_node_id: null,
    real_node_id: nodeId,
  };
  tell(run, "progress_state", { nodes: run.progress });
}

/** Sends a picture: event 4 before the `progress` for owners that know it, else event 1 behind; without an owner to all. */
export function tellStep(
  run: Run,
  nodeId: string,
  step: { value: number; max: number; preview?: Preview },
): void {
  const { clientId, promptId } = run.item;
  const { value, max, preview } = step;
  const client = clientId === null ? undefined : run.session.clients.get(clientId);
  const isShown = preview && !faultOf(run, "socket-silent");
  tellProgress(run, nodeId, { value, max, state: "running" });
  if (isShown && clientId !== null && client?.supportsPreviewMetadata) {
    sendBytes(run.session, clientId, metadataFrame(preview, promptId, nodeId));
  }
  tell(run, "progress", { value, max, node: nodeId });
  if (!isShown || client?.supportsPreviewMetadata) return;
  if (clientId === null) broadcastBytes(run.session, plainFrame(preview));
  else sendBytes(run.session, clientId, plainFrame(preview));
}

function isWithheld(run: Run, event: string, data: JsonObject): boolean {
  if (faultOf(run, "socket-silent")) return true;
  const isEnd = event === "execution_success" || (event === "executing" && data.node === null);
  return isEnd && faultOf(run, "socket-no-end") !== undefined;
}

import type { JsonObject } from "../json.ts";
import { broadcast, sendBytes, sendTo } from "../socket/send.ts";
import { metadataFrame, plainFrame, type Preview } from "../socket/preview-frame.ts";
import { faultOf, type Run } from "./run.ts";

/** Sends an event to the owner's socket and to nobody else. */
export function tell(run: Run, event: string, data: JsonObject): void {
  const { clientId, promptId } = run.item;
  if (clientId === null || isWithheld(run, event, data)) return;
  sendTo(run.session, clientId, { type: event, data: { ...data, prompt_id: promptId } });
}

/** An event that history keeps, with its time. */
export function tellAndKeep(run: Run, event: string, data: JsonObject): void {
  const kept = { prompt_id: run.item.promptId, ...data, timestamp: Date.now() };
  run.messages.push([event, kept]);
  if (event === "execution_interrupted" && run.item.clientId === null) {
    broadcast(run.session, { type: event, data: kept });
  } else {
    tell(run, event, kept);
  }
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

/** Sends a picture: event 4 before the `progress` for clients that know it, else event 1 behind. */
export function tellStep(
  run: Run,
  nodeId: string,
  step: { value: number; max: number; preview?: Preview },
): void {
  const { clientId, promptId } = run.item;
  const { value, max, preview } = step;
  const client = clientId === null ? undefined : run.session.clients.get(clientId);
  const isShown = preview && clientId !== null && !faultOf(run, "socket-silent");
  tellProgress(run, nodeId, { value, max, state: "running" });
  if (isShown && client?.supportsPreviewMetadata) {
    sendBytes(run.session, clientId, metadataFrame(preview, promptId, nodeId));
  }
  tell(run, "progress", { value, max, node: nodeId });
  if (isShown && client && !client.supportsPreviewMetadata) {
    sendBytes(run.session, clientId, plainFrame(preview));
  }
}

function isWithheld(run: Run, event: string, data: JsonObject): boolean {
  if (faultOf(run, "socket-silent")) return true;
  const isEnd = event === "execution_success" || (event === "executing" && data.node === null);
  return isEnd && faultOf(run, "socket-no-end") !== undefined;
}

import type { JobsUpdate } from "@atelier/server/jobs";
import type { Connection, LiveState } from "./live-state.ts";

/** What tabs of one browser say to each other. */
export type TabMessage =
  | { readonly type: "hello" }
  | { readonly type: "state"; readonly state: LiveState }
  | { readonly type: "update"; readonly update: JobsUpdate }
  | { readonly type: "connection"; readonly connection: Connection }
  | { readonly type: "account-changed" };

export interface TabChannel {
  readonly send: (message: TabMessage) => void;
  readonly close: () => void;
}

export const channelName = "atelier-live";

export function openChannel(onMessage: (message: TabMessage) => void): TabChannel {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", (event: MessageEvent<TabMessage>) => onMessage(event.data));
  return {
    send: (message) => channel.postMessage(message),
    close: () => channel.close(),
  };
}

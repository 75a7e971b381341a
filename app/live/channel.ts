import type { JobsUpdate } from "@atelier/server/jobs";
import type { Connection, LiveState } from "./store.ts";

/** Messages between the tabs of one browser. */
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

const channelName = "atelier-live";

export function openChannel(onMessage: (message: TabMessage) => void): TabChannel {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", (event: MessageEvent<TabMessage>) => onMessage(event.data));
  return {
    send: (message) => channel.postMessage(message),
    close: () => channel.close(),
  };
}

/** Under which the pages keep what was written and chosen. */
export const draftKeys = { create: "atelier-create", studio: "atelier-studio" } as const;

/** What a page kept; null where the browser blocks its storage. */
export function readDraft(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps what a page holds. In a full or blocked storage nothing is kept, and the page goes on with what it holds. */
export function writeDraft(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // The draft lives as long as the tab.
  }
}

/** What one person wrote is not for the next one at this browser. */
export function forgetDrafts(storage: Pick<Storage, "removeItem">): void {
  for (const key of Object.values(draftKeys)) storage.removeItem(key);
}

let isOnItsWay = false;

/** The session has ended: the drafts are deleted, so the next user of this browser cannot read them. */
export function announceSignOut(): void {
  if (isOnItsWay) return;
  try {
    forgetDrafts(localStorage);
  } catch {
    // A blocked storage holds no drafts, and the sign-out goes on.
  }
  announceAccountChange("/sign-in");
}

/** This browser uses another account now: every tab reloads, so that no data of the former account stays visible. */
export function announceAccountChange(goTo: string): void {
  if (isOnItsWay) return;
  isOnItsWay = true;
  const channel = new BroadcastChannel(channelName);
  channel.postMessage({ type: "account-changed" } satisfies TabMessage);
  channel.close();
  window.location.assign(goTo);
}

/** Reloads this tab. The announcing tab receives its own message too, and a reload would keep its address. */
export function followAccountChange(): void {
  if (!isOnItsWay) window.location.reload();
}

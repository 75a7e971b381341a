import { channelName, type TabMessage } from "./channel.ts";
import { forgetDrafts } from "./forget-drafts.ts";

let isOnItsWay = false;

/** The session is over: whoever signs in next finds nothing of this person. */
export function announceSignOut(): void {
  if (isOnItsWay) return;
  try {
    forgetDrafts(localStorage);
  } catch {
    // A blocked storage holds no drafts, and the sign-out goes on.
  }
  announceAccountChange("/sign-in");
}

/** Another account is used in this browser now: every tab loads anew, so that nothing of the former one is shown. */
export function announceAccountChange(goTo: string): void {
  if (isOnItsWay) return;
  isOnItsWay = true;
  const channel = new BroadcastChannel(channelName);
  channel.postMessage({ type: "account-changed" } satisfies TabMessage);
  channel.close();
  window.location.assign(goTo);
}

/** Loads this tab anew. The tab that announced hears itself too, and a reload would keep it where it is. */
export function followAccountChange(): void {
  if (!isOnItsWay) window.location.reload();
}

import { channelName, type TabMessage } from "./channel.ts";

/** Another person uses this browser now: every tab loads anew, so that nothing of the former one stays. */
export function announceAccountChange(goTo: string): void {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage({ type: "account-changed" } satisfies TabMessage);
  channel.close();
  window.location.assign(goTo);
}

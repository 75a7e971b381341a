import { openChannel, type TabMessage } from "./channel.ts";
import { lead } from "./lead.ts";
import type { LiveStore } from "./live-store.ts";
import type { OpenStream } from "./stream.ts";

interface Options {
  readonly store: LiveStore;
  readonly open: OpenStream;
  readonly onAccountChange: () => void;
}

const lockName = "atelier-live";

/** Joins the tabs of this browser: one leads and holds the stream, the others listen and wait for the lock. */
export function startLive({ store, open, onAccountChange }: Options): () => void {
  const leaving = new AbortController();
  let leading = false;

  function hear(message: TabMessage): void {
    switch (message.type) {
      case "hello":
        if (leading) channel.send({ type: "state", state: store.state() });
        break;
      case "state":
        store.adopt(message.state);
        break;
      case "update":
        store.apply(message.update);
        break;
      case "connection":
        store.setConnection(message.connection);
        break;
      case "account-changed":
        onAccountChange();
        break;
    }
  }
  const channel = openChannel(hear);
  channel.send({ type: "hello" });

  async function holdLead(): Promise<void> {
    // The lock may be granted just after this tab let go of it.
    if (leaving.signal.aborted) return;
    leading = true;
    const stop = lead({ store, channel, open });
    await new Promise((resolve) => leaving.signal.addEventListener("abort", resolve, { once: true }));
    stop();
  }
  navigator.locks.request(lockName, { signal: leaving.signal }, holdLead).catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  });

  return () => {
    leaving.abort();
    channel.close();
  };
}

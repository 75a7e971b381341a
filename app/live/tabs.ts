import { openChannel, type TabChannel, type TabMessage } from "./channel.ts";
import { lead } from "./lead.ts";
import type { LiveStore } from "./store.ts";
import type { OpenStream } from "./stream.ts";

interface Options {
  readonly store: LiveStore;
  readonly open: OpenStream;
  readonly onAccountChange: () => void;
  /** Missing outside secure contexts, as over plain http on a LAN address: then each tab leads for itself. */
  readonly locks: LockManager | undefined;
}

interface Tab {
  readonly store: LiveStore;
  readonly channel: TabChannel;
  readonly isLeading: () => boolean;
}

const lockName = "atelier-live";

function hear(
  message: Exclude<TabMessage, { type: "account-changed" }>,
  { store, channel, isLeading }: Tab,
): void {
  switch (message.type) {
    case "hello":
      if (isLeading()) channel.send({ type: "state", state: store.state() });
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
  }
}

function leadAlone({ store, open, onAccountChange }: Options): () => void {
  const channel = openChannel((message) => {
    if (message.type === "account-changed") onAccountChange();
  });
  // Another tab's word about its own connection would be wrong here, and this tab's there.
  const stop = lead({ store, open, channel: { ...channel, send: () => undefined } });
  return () => {
    stop();
    channel.close();
  };
}

function leadInTurn({ store, open, onAccountChange }: Options, locks: LockManager): () => void {
  const leaving = new AbortController();
  let leading = false;
  const channel = openChannel((message) => {
    if (message.type === "account-changed") onAccountChange();
    else hear(message, { store, channel, isLeading: () => leading });
  });
  channel.send({ type: "hello" });

  async function holdLead(): Promise<void> {
    // The lock may be granted just after this tab let go of it.
    if (leaving.signal.aborted) return;
    leading = true;
    const stop = lead({ store, channel, open });
    await new Promise((resolve) => leaving.signal.addEventListener("abort", resolve, { once: true }));
    stop();
  }
  locks.request(lockName, { signal: leaving.signal }, holdLead).catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  });
  return () => {
    leaving.abort();
    channel.close();
  };
}

/** Joins the tabs of this browser: one leads and holds the stream, the others listen and wait for the lock. */
export function startLive(options: Options): () => void {
  return options.locks === undefined ? leadAlone(options) : leadInTurn(options, options.locks);
}

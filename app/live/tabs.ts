import { openChannel, type TabChannel, type TabMessage } from "./channel.ts";
import type { LiveStore } from "./store.ts";
import { keepStream, type OpenStream } from "./stream.ts";

/** A short interruption is not shown; a longer one is. */
const breakShownAfterMs = 3_000;

interface LeadOptions {
  readonly store: LiveStore;
  readonly channel: TabChannel;
  readonly open: OpenStream;
}

/** The leading tab holds the stream and shares its updates. */
function lead({ store, channel, open }: LeadOptions): () => void {
  let breakTimer: ReturnType<typeof setTimeout> | undefined;

  function share(connection: "live" | "reconnecting"): void {
    store.setConnection(connection);
    channel.send({ type: "connection", connection });
  }
  function noteBreak(): void {
    breakTimer ??= setTimeout(() => share("reconnecting"), breakShownAfterMs);
  }
  function noteLife(): void {
    clearTimeout(breakTimer);
    breakTimer = undefined;
    if (store.connection() !== "live") share("live");
  }

  // A page that has just opened has lost nothing yet.
  if (store.connection() !== "connecting") noteBreak();
  const close = keepStream({
    open,
    since: () => store.state().at,
    onOpen: noteLife,
    onLost: noteBreak,
    onUpdate: (update) => {
      noteLife();
      store.apply(update);
      channel.send({ type: "update", update });
    },
  });
  return () => {
    clearTimeout(breakTimer);
    close();
  };
}

interface StartLiveOptions {
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

function leadAlone({ store, open, onAccountChange }: StartLiveOptions): () => void {
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

function leadInTurn({ store, open, onAccountChange }: StartLiveOptions, locks: LockManager): () => void {
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
export function startLive(options: StartLiveOptions): () => void {
  return options.locks === undefined ? leadAlone(options) : leadInTurn(options, options.locks);
}

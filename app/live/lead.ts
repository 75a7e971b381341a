import type { TabChannel } from "./channel.ts";
import type { LiveStore } from "./store.ts";
import { keepStream, type OpenStream } from "./stream.ts";

/** A short break is nobody's concern; a longer one is shown. */
const breakShownAfterMs = 3_000;

interface Options {
  readonly store: LiveStore;
  readonly channel: TabChannel;
  readonly open: OpenStream;
}

/** What the leading tab does: holds the stream and shares all it hears. */
export function lead({ store, channel, open }: Options): () => void {
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

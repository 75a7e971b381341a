import type { LiveUpdate } from "@atelier/server/api";
import { type AccountChanged, channelName } from "../client/leaving.ts";
import type { Connection, LiveState, LiveStore } from "./store.ts";
import { keepStream, type OpenStream } from "./stream.ts";

/** Messages between the tabs of one browser. */
type TabMessage =
  | { readonly type: "hello" }
  | { readonly type: "state"; readonly state: LiveState }
  | { readonly type: "update"; readonly update: LiveUpdate }
  | { readonly type: "connection"; readonly connection: Connection }
  | AccountChanged;

interface TabChannel {
  readonly send: (message: TabMessage) => void;
  readonly close: () => void;
}

function openChannel(onMessage: (message: TabMessage) => void): TabChannel {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", (event: MessageEvent<TabMessage>) => onMessage(event.data));
  return {
    send: (message) => channel.postMessage(message),
    close: () => channel.close(),
  };
}

/** Interruptions shorter than this are not shown. */
const breakShownAfterMs = 3_000;

interface LeadOptions {
  readonly store: LiveStore;
  readonly open: OpenStream;
  readonly send: TabChannel["send"];
}

/** Holds the stream and sends its updates to the other tabs; returns the function that stops it. */
function lead({ store, open, send }: LeadOptions): () => void {
  let breakTimer: ReturnType<typeof setTimeout> | undefined;

  function share(connection: "live" | "reconnecting"): void {
    store.setConnection(connection);
    send({ type: "connection", connection });
  }
  function noteBreak(): void {
    breakTimer ??= setTimeout(() => share("reconnecting"), breakShownAfterMs);
  }
  function noteAnswer(): void {
    clearTimeout(breakTimer);
    breakTimer = undefined;
    if (store.connection() !== "live") share("live");
  }

  // A tab that takes over the lead may already be disconnected. A page that was just opened is not.
  if (store.connection() !== "connecting") noteBreak();
  const close = keepStream({
    open,
    since: () => store.state().at,
    onOpen: noteAnswer,
    onLost: noteBreak,
    onUpdate: (update) => {
      noteAnswer();
      store.apply(update);
      send({ type: "update", update });
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
  /** Missing outside secure contexts, as over plain http on a LAN address: then each tab opens its own stream. */
  readonly locks: LockManager | undefined;
  readonly page: Pick<Document, "visibilityState" | "addEventListener" | "removeEventListener">;
}

interface Tab {
  readonly store: LiveStore;
  readonly channel: TabChannel;
  readonly isLeading: () => boolean;
}

const lockName = "atelier-live";

/** Handles a message of another tab. The frame follows a change of the account (`client/leaving.ts`). */
function receive(message: TabMessage, { store, channel, isLeading }: Tab): void {
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
    case "account-changed":
      break;
  }
}

/** A tab that leads answers a question within this time, unless the browser has suspended it. */
const answerMs = 3_000;
/** The server gives a sign of life more often, which the leading tab passes on. */
const silentMs = 25_000;

function leadInTurn({ store, open, page }: StartLiveOptions, locks: LockManager): () => void {
  const leaving = new AbortController();
  let waiting = new AbortController();
  let stopLeading: (() => void) | null = null;
  let heard = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const channel = openChannel((message) => {
    if (message.type !== "hello") heard += 1;
    receive(message, { store, channel, isLeading: () => stopLeading !== null });
  });

  async function holdLead(): Promise<void> {
    // The lock may be granted just after this tab stopped waiting for it.
    if (leaving.signal.aborted) return;
    stopLeading = lead({ store, open, send: channel.send });
    await new Promise((resolve) => leaving.signal.addEventListener("abort", resolve, { once: true }));
  }
  function request(options: LockOptions): void {
    locks.request(lockName, options, holdLead).catch(() => {
      if (leaving.signal.aborted || options.signal?.aborted) return;
      if (stopLeading === null) {
        // The browser refuses locks, as where it keeps no data of pages.
        stopLeading = lead({ store, open, send: channel.send });
        return;
      }
      // Another tab has taken the lead, since this one was silent.
      stopLeading();
      wait();
      ask();
    });
  }
  function wait(): void {
    stopLeading = null;
    waiting = new AbortController();
    request({ signal: waiting.signal });
  }
  /**
   * Takes the lead from a tab that does not answer: phones suspend the tabs that are not seen, and a suspended one keeps its
   * lock. A tab that is not seen needs no lead.
   */
  function ask(): void {
    clearTimeout(timer);
    if (stopLeading !== null) return;
    const before = heard;
    channel.send({ type: "hello" });
    if (page.visibilityState !== "visible") return;
    timer = setTimeout(() => {
      if (stopLeading !== null || heard !== before) return listen();
      waiting.abort();
      request({ steal: true });
    }, answerMs);
  }
  function listen(): void {
    const before = heard;
    timer = setTimeout(() => (heard === before ? ask() : listen()), silentMs);
  }
  wait();
  ask();
  page.addEventListener("visibilitychange", ask);
  return () => {
    page.removeEventListener("visibilitychange", ask);
    clearTimeout(timer);
    leaving.abort();
    waiting.abort();
    stopLeading?.();
    channel.close();
  };
}

/** One tab of the browser holds the lock and the stream; the others get its updates and wait for the lock. Returns a stop function. */
export function startLive(options: StartLiveOptions): () => void {
  const { store, open, locks } = options;
  // Without locks nothing is shared: each tab has its own connection and state.
  return locks === undefined ? lead({ store, open, send: () => undefined }) : leadInTurn(options, locks);
}

import { createTRPCClient, httpSubscriptionLink } from "@trpc/client";
import type { AppRouter, LiveUpdate } from "@atelier/server/api";
import { apiUrl, wire } from "../client/api.ts";
import { failureOf } from "../ui/failures.ts";
import { ensureGuest, forgetSession } from "../client/session.ts";

interface StreamHandlers {
  readonly onUpdate: (update: LiveUpdate) => void;
  readonly onOpen: () => void;
  readonly onLost: () => void;
}

/** Opens one stream that resumes at `since`, and that the server ends at once if it is to be brief; returns the function that closes it. */
export type OpenStream = (since: string | null, handlers: StreamHandlers, isBrief: boolean) => () => void;

const firstWaitMs = 300;
const maxWaitMs = 5_000;
/** The server opens a stream at once, whatever it reads first. */
const openMs = 8_000;
/** Of the second that a brief stream lasts, what shows that its beginning came before its end. */
const apartMs = 500;

interface Options {
  readonly open: OpenStream;
  readonly since: () => string | null;
  readonly onUpdate: (update: LiveUpdate) => void;
  readonly onOpen: () => void;
  readonly onLost: () => void;
}

/**
 * Opens the stream again after each loss, with a growing pause, from the time of the last update. Some tunnels and virus
 * scanners gather an answer and give it out at its end: behind those the streams are brief, one after the other. Returns a
 * close function.
 */
export function keepStream(options: Options): () => void {
  let closed = false;
  let isGathered = false;
  let waitMs = firstWaitMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let close: () => void = () => undefined;

  function connect(): void {
    let lost = false;
    let openedAt = 0;
    function noteOpen(): void {
      clearTimeout(timer);
      openedAt ||= performance.now();
    }
    function lose(): void {
      if (lost || closed) return;
      lost = true;
      clearTimeout(timer);
      if (openedAt > 0 && performance.now() - openedAt > apartMs) isGathered = false;
      close();
      options.onLost();
      timer = setTimeout(connect, waitMs);
      waitMs = Math.min(waitMs * 2, maxWaitMs);
    }
    timer = setTimeout(() => {
      isGathered = true;
      lose();
    }, openMs);
    const handlers: StreamHandlers = {
      onUpdate: (update) => {
        noteOpen();
        waitMs = firstWaitMs;
        options.onUpdate(update);
      },
      onOpen: () => {
        noteOpen();
        options.onOpen();
      },
      onLost: lose,
    };
    close = options.open(options.since(), handlers, isGathered);
  }
  connect();

  return () => {
    closed = true;
    clearTimeout(timer);
    close();
  };
}

const streams = createTRPCClient<AppRouter>({
  links: [httpSubscriptionLink({ url: apiUrl, transformer: wire })],
});

/** The subscription `jobs.watch` as a stream. */
export const openJobStream: OpenStream = (since, handlers, isBrief) => {
  let closed = false;
  let wasOpen = false;
  let unsubscribe: () => void = () => undefined;

  // The browser reports no reason for a refused stream. The session may have ended, so it is checked again.
  function lose(): void {
    if (!wasOpen) forgetSession();
    handlers.onLost();
  }
  /** An error that the server sent on an open stream has its reason: a session that ended, or a suspension. */
  function fail(error: unknown): void {
    if (failureOf(error).code === "unauthorized") forgetSession();
    lose();
  }
  function subscribe(): void {
    if (closed) return;
    const input = { since: since ?? undefined, isBrief };
    const subscription = streams.jobs.watch.subscribe(input, {
      onStarted: () => {
        wasOpen = true;
        handlers.onOpen();
      },
      onData: handlers.onUpdate,
      onError: fail,
      onComplete: lose,
      onConnectionStateChange: (state) => {
        const broke = state.state === "connecting" && (wasOpen || state.error !== null);
        if (broke) lose();
      },
    });
    unsubscribe = () => subscription.unsubscribe();
    if (closed) unsubscribe();
  }
  ensureGuest().then(subscribe, handlers.onLost);

  return () => {
    closed = true;
    unsubscribe();
  };
};

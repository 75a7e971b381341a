import { api } from "../client/api.ts";
import { ensureGuest, forgetSession } from "../client/session.ts";
import type { OpenStream } from "./stream.ts";

/** The subscription `jobs.watch` as a stream. */
export const openJobStream: OpenStream = (since, handlers) => {
  let closed = false;
  let wasOpen = false;
  let unsubscribe: () => void = () => undefined;

  // A refused stream does not say why: the session may be over.
  function lose(): void {
    if (!wasOpen) forgetSession();
    handlers.onLost();
  }
  function subscribe(): void {
    if (closed) return;
    const subscription = api.jobs.watch.subscribe(since === null ? {} : { since }, {
      onStarted: () => {
        wasOpen = true;
        handlers.onOpen();
      },
      onData: handlers.onUpdate,
      onError: lose,
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

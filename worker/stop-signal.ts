/** Who wants the process to end: a signal, or an admin who retires its node. */
export type StopCause = NodeJS.Signals | "retired";

/** Waits for the first word that the process should stop. */
export interface StopWait {
  /** Resolves with who asked first. */
  readonly requested: Promise<StopCause>;
  /** Resolves with the first signal: from then on the grace time runs. */
  readonly signalled: Promise<NodeJS.Signals>;
  retire(): void;
}

/** SIGINT and SIGTERM ask the process to stop, and so does `retire`; a second signal ends it at once. */
export function onceStopped(): StopWait {
  const signalled = Promise.withResolvers<NodeJS.Signals>();
  const retired = Promise.withResolvers<"retired">();
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    signalled.resolve(signal);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    requested: Promise.race([signalled.promise, retired.promise]),
    signalled: signalled.promise,
    retire: () => retired.resolve("retired"),
  };
}

/** Waits for the first word that the process should stop. */
export interface StopWait {
  /** Resolves with who asked. */
  readonly requested: Promise<NodeJS.Signals | "retired">;
  request(): void;
}

/** SIGINT and SIGTERM ask the process to stop, and so does `request`; a second signal ends it at once. */
export function onceStopped(): StopWait {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals | "retired">();
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    resolve(signal);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return { requested: promise, request: () => resolve("retired") };
}

const samePressMs = 400;

/** Whether and how the user wants everything to end. */
export interface StopSignals {
  /** Settles at the first SIGINT, SIGTERM or SIGHUP. */
  readonly requested: Promise<void>;
  readonly isRequested: () => boolean;
  /** What a second Ctrl-C does. */
  readonly onSecond: (action: () => void) => void;
  /** Lets signals end the process as usual again. */
  readonly release: () => void;
}

/**
 * Listens for stop signals. One press of Ctrl-C can arrive twice (from the terminal and from the package manager), so
 * that a repetition counts from 0.4 s on.
 */
export function listenForStop(): StopSignals {
  const { promise, resolve } = Promise.withResolvers<void>();
  let firstMs: number | null = null;
  let second: () => void = () => undefined;
  const onSignal = () => {
    if (firstMs === null) {
      firstMs = performance.now();
      resolve();
    } else if (performance.now() - firstMs > samePressMs) {
      second();
    }
  };
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, onSignal);
  return {
    requested: promise,
    isRequested: () => firstMs !== null,
    onSecond: (action) => (second = action),
    release: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

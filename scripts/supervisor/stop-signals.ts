const samePressMs = 400;

/** Whether and how the user wants everything to end. */
export interface StopSignals {
  /** Settles at the first SIGINT, SIGTERM or SIGHUP. */
  readonly requested: Promise<void>;
  readonly isRequested: () => boolean;
  /** Does what a first signal does. */
  readonly request: () => void;
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
  const request = () => {
    firstMs ??= performance.now();
    resolve();
  };
  const onSignal = () => {
    const isAnotherPress = firstMs !== null && performance.now() - firstMs > samePressMs;
    if (isAnotherPress) second();
    else request();
  };
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, onSignal);
  return {
    requested: promise,
    request,
    isRequested: () => firstMs !== null,
    onSecond: (action) => (second = action),
    release: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

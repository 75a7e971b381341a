/** The promise, or a rejection with the signal's reason on abort. The work behind the promise is not stopped. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The promise, or what `late` gives or throws after `ms`. The work behind the promise is not stopped. */
export function orLate<T, Late>(promise: Promise<T>, ms: number, late: () => Late): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => void Promise.try(late).then(resolve, reject), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Why a signal of `AbortSignal.timeout` aborted. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

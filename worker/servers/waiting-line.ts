/** Those who wait for something, first come, first served. */
export interface WaitingLine<Request, Result> {
  /** Asks at once and then at each `settle` until there is an answer. Rejects with the signal's reason. */
  wait(request: Request, signal: AbortSignal): Promise<Result>;
  settle(): void;
}

/** `answer` gives undefined as long as the request has to wait. */
export function createWaitingLine<Request, Result>(
  answer: (request: Request) => Result | undefined,
): WaitingLine<Request, Result> {
  const waiting = new Set<() => void>();
  return {
    wait(request, signal) {
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(ask);
          signal.removeEventListener("abort", give);
        };
        const give = () => {
          leave();
          reject(signal.reason);
        };
        const ask = () => {
          const result = answer(request);
          if (result === undefined) return;
          leave();
          resolve(result);
        };
        if (signal.aborted) return give();
        signal.addEventListener("abort", give, { once: true });
        waiting.add(ask);
        return ask();
      });
    },
    settle() {
      for (const ask of waiting) ask();
    },
  };
}

import type { Logger } from "./log.ts";
import { createRepeats } from "./repeats.ts";

/** Logs errors of connections that reconnect by themselves: the first of each kind, then with pauses that grow. */
export function logConnectionErrors(
  log: Logger,
  describe: (error: Error) => string | null = () => null,
): (error: Error) => void {
  const mayTell = createRepeats(1);
  return (error) => {
    const text = describe(error) ?? "connection lost, reconnecting";
    const code = "code" in error ? String(error.code) : (error.message.split(/[\s:]/, 1)[0] ?? "");
    const leftOut = mayTell(`${text} ${code}`);
    if (leftOut !== null) log.warn({ err: error, ...(leftOut > 0 ? { leftOut } : {}) }, text);
  };
}

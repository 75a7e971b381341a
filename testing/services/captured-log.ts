import type { Logger } from "@atelier/server/platform";
import pino from "pino";

/** A log whose lines are kept, as JSON. */
export function captureLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  return { log, lines };
}

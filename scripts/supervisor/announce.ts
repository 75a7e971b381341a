import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "./run.ts";

const firstAskMs = 250;
/** A page with a fault in it is asked for less and less often: each time fills the terminal. */
const lastAskMs = 10_000;

async function readStatus(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(30_000) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  }
}

export function box(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => line.length));
  const edge = "─".repeat(width + 4);
  const rows = lines.map((line) => `│  ${line.padEnd(width)}  │`);
  return [`┌${edge}┐`, ...rows, `└${edge}┘`].join("\n");
}

/** The lines of the box, with the link of the first admin while there is none. */
export function readyLines(appUrl: string, adminLink: string | null): string[] {
  const link =
    adminLink === null ? [] : ["", "There is no admin yet. This link makes an account the admin:", adminLink];
  return ["Atelier is ready", appUrl, ...link, "", "Ctrl-C stops it"];
}

/** Prints the address once the page answers; gives up in silence when `isOver`. */
export async function announce(
  settings: Settings,
  options: { say: (text: string) => void; isOver: () => boolean; adminLink: Promise<string | null> },
): Promise<void> {
  const host = settings.host === "0.0.0.0" || settings.host === "::" ? "127.0.0.1" : settings.host;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${settings.port}/`;
  let askMs = firstAskMs;
  while (!options.isOver()) {
    const status = await readStatus(url);
    if (status !== null && status < 500) {
      options.say(`\n${box(readyLines(settings.appUrl, await options.adminLink))}\n`);
      return;
    }
    if (status !== null) askMs = Math.min(askMs * 2, lastAskMs);
    await sleep(askMs, undefined, { ref: false });
  }
}

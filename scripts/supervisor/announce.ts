import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "./settings.ts";

const askMs = 250;

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(30_000) });
    await response.body?.cancel();
    return response.status < 500;
  } catch {
    return false;
  }
}

export function box(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => line.length));
  const edge = "─".repeat(width + 4);
  const rows = lines.map((line) => `│  ${line.padEnd(width)}  │`);
  return [`┌${edge}┐`, ...rows, `└${edge}┘`].join("\n");
}

/** Prints the address once the page answers; gives up in silence when `isOver`. */
export async function announce(
  settings: Settings,
  options: { say: (text: string) => void; isOver: () => boolean },
): Promise<void> {
  const host = settings.host === "0.0.0.0" || settings.host === "::" ? "127.0.0.1" : settings.host;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${settings.port}/`;
  while (!options.isOver()) {
    if (await answers(url)) {
      options.say(`\n${box(["Atelier is ready", settings.appUrl, "", "Ctrl-C stops it"])}\n`);
      return;
    }
    await sleep(askMs, undefined, { ref: false });
  }
}

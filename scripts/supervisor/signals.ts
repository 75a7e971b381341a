import { readFileSync } from "node:fs";
import { identify, isAlive, type ProcessIdentity } from "../process/process-identity.ts";

const lookMs = 1_000;
const packageManager = /^(npm|npx|pnpm|corepack)\b/;

interface Ancestor {
  readonly pid: number;
  readonly command: string;
}

function readParent(pid: number): Ancestor | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    const parent = Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[1]);
    return { pid: parent, command: readFileSync(`/proc/${parent}/comm`, "utf8") };
  } catch {
    return null;
  }
}

function readAncestors(): Ancestor[] {
  const ancestors: Ancestor[] = [];
  for (let next = readParent(process.pid); next && next.pid > 1; next = readParent(next.pid)) {
    ancestors.push(next);
  }
  return ancestors;
}

/** This process's ancestors up to the topmost package manager; none where /proc does not tell. */
function findLaunchers(): ProcessIdentity[] {
  const ancestors = readAncestors();
  const top = ancestors.findLastIndex(({ command }) => packageManager.test(command));
  return ancestors.slice(0, top + 1).map(({ pid }) => identify(pid));
}

/**
 * Calls `onGone` when a part of the chain npx -> sh -> pnpm -> sh that started this process has ended: npx passes
 * SIGTERM on to a shell that dies of it without a word to pnpm, and all that pnpm started would run on unseen.
 */
export function watchLauncher(onGone: () => void): void {
  const launchers = findLaunchers();
  if (launchers.length === 0) return;
  const timer = setInterval(() => {
    if (launchers.every(isAlive)) return;
    clearInterval(timer);
    onGone();
  }, lookMs);
  timer.unref();
}

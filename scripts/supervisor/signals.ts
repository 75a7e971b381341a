import { readFileSync } from "node:fs";
import { identify, isAlive, type ProcessIdentity } from "../process/lock.ts";

const samePressMs = 400;

/** Requests to stop the supervisor. */
export interface StopSignals {
  /** Settles at the first SIGINT, SIGTERM or SIGHUP. */
  readonly requested: Promise<void>;
  readonly isRequested: () => boolean;
  /** Requests the stop, like the first signal. */
  readonly request: () => void;
  /** Sets the action for a second Ctrl-C. */
  readonly onSecond: (action: () => void) => void;
  /** Removes the listeners: signals end the process again. */
  readonly release: () => void;
}

/**
 * Listens for stop signals. One press of Ctrl-C can arrive twice (from the terminal and from the package manager), so
 * signals within 0.4 s of the first one are ignored.
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

/** This process's ancestors up to the topmost package manager; empty without /proc. */
function findLaunchers(): ProcessIdentity[] {
  const ancestors = readAncestors();
  const top = ancestors.findLastIndex(({ command }) => packageManager.test(command));
  return ancestors.slice(0, top + 1).map(({ pid }) => identify(pid));
}

/**
 * Calls `onGone` when a part of the chain npx -> sh -> pnpm -> sh that started this process has ended: npx passes
 * SIGTERM to a shell that exits without stopping pnpm, so the processes of pnpm would continue to run.
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

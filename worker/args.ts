import { parseArgs } from "node:util";

export const usage = `Usage: worker [--only KINDS] [--once [--wait SECONDS]]

  --only KINDS     takes only these kinds of jobs, separated by commas; as WORKER_ONLY
  --once           takes one job from the lightest CPU queue, finishes it and ends
  --wait SECONDS   with --once: ends without work when none came for so long; 10 by default`;

export interface Flags {
  /** Goes before WORKER_ONLY. */
  readonly only: string | null;
  /** Null for a worker that stays. */
  readonly once: { readonly waitMs: number } | null;
  readonly wantsHelp: boolean;
}

export type ParsedFlags =
  | { readonly flags: Flags; readonly problem: null }
  | { readonly flags: null; readonly problem: string };

const options = {
  only: { type: "string" },
  once: { type: "boolean", default: false },
  wait: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

const defaultWaitS = 10;
const maxWaitS = 3_600;

/** Reads a worker's command line; what is wrong comes back in plain words. */
export function parseFlags(args: readonly string[]): ParsedFlags {
  // Package managers may leave the "--" in front of what they pass on.
  const own = args[0] === "--" ? args.slice(1) : [...args];
  try {
    return check(parseArgs({ args: own, options }).values);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

interface Given {
  readonly only?: string | undefined;
  readonly once: boolean;
  readonly wait?: string | undefined;
  readonly help: boolean;
}

function check({ only, once, wait, help }: Given): ParsedFlags {
  if (only?.trim() === "") return refuse("--only needs kinds of jobs, separated by commas.");
  if (wait !== undefined && !once) return refuse("--wait belongs to --once.");
  const waitS = wait === undefined ? defaultWaitS : Number.parseFloat(wait);
  if (!(waitS >= 0 && waitS <= maxWaitS)) return refuse(`--wait needs seconds, from 0 to ${maxWaitS}.`);
  const flags = { only: only ?? null, once: once ? { waitMs: waitS * 1_000 } : null, wantsHelp: help };
  return { flags, problem: null };
}

function refuse(problem: string): ParsedFlags {
  return { flags: null, problem: `${problem}\n\n${usage}` };
}

/** The arguments that mean the same to the worker's own process; what it takes only goes by its environment. */
export function toArgs({ once }: Pick<Flags, "once">): string[] {
  return once ? ["--once", "--wait", String(once.waitMs / 1_000)] : [];
}

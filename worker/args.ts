import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import { type EngineName, engines, type JobKind, jobKinds } from "@atelier/server/engines";
import type { Env } from "@atelier/server/platform";

export interface Asking {
  readonly kinds: readonly string[];
  readonly input: Readable;
  readonly output: Writable;
  /** Aborting counts as Enter. */
  readonly signal?: AbortSignal;
}

/** Whether to ask the user for kinds: only in a terminal, outside CI, and when none are configured. */
export function mayAsk(given: {
  readonly isTerminal: boolean;
  readonly ci: string | undefined;
  readonly only: readonly string[];
}): boolean {
  const isCi = given.ci !== undefined && !["", "0", "false"].includes(given.ci);
  return given.isTerminal && !isCi && given.only.length === 0;
}

/** Asks which kinds of jobs the worker takes, by number or name, until the answer is valid. Empty: all kinds. */
export async function askOnly({ kinds, input, output, signal }: Asking): Promise<string[]> {
  const choices = kinds.map((kind, at) => `  ${at + 1}  ${kind}`).join("\n");
  output.write(`Which jobs should this worker take?\n${choices}\n`);
  // Not in raw mode, so that Ctrl-C still sends SIGINT.
  const lines = createInterface({ input, terminal: false, ...(signal ? { signal } : {}) });
  // Created before the first question: readline drops lines that arrive before the iterator exists.
  const answers = lines[Symbol.asyncIterator]();
  const prompt = () => output.write("Numbers or names, separated by commas; Enter for all: ");
  prompt();
  try {
    for await (const line of answers) {
      const names = line.split(/[\s,]+/).filter(Boolean);
      const chosen = names.map((name) => kinds.find((kind, at) => name === kind || name === String(at + 1)));
      const known = chosen.filter((kind) => kind !== undefined);
      if (known.length === names.length) return [...new Set(known)];
      const unknown = names.filter((_, at) => chosen[at] === undefined);
      output.write(`There is no ${unknown.join(", ")}. `);
      prompt();
    }
    return [];
  } finally {
    lines.close();
    // An input that is still being read keeps the process alive.
    input.pause();
  }
}

/** The kinds that a worker with this environment can take; `paid` are those that its keys of providers pay for. */
export function possibleKinds(
  env: Pick<Env, "COMFYUI_URLS" | "COMFYUI_DISCOVERY" | "IOPAINT_URLS">,
  paid: readonly JobKind[],
): JobKind[] {
  const hasList = env.COMFYUI_DISCOVERY.length > 0;
  const isThere: Readonly<Record<EngineName, boolean>> = {
    local: true,
    comfyui: env.COMFYUI_URLS.length > 0 || hasList,
    // A list of servers may hold IOPaint servers too.
    iopaint: env.IOPAINT_URLS.length > 0 || hasList,
    cloud: false,
  };
  const own = engines.filter(({ name }) => isThere[name]).flatMap(({ kinds }) => kinds);
  return jobKinds.filter((kind) => own.includes(kind) || paid.includes(kind));
}

/** Exit code of a worker that an admin requested to stop; its supervisor does not start it again. */
export const retiredExitCode = 20;

export const usage = `Usage: worker [--only KINDS] [--once [--queue NAME] [--wait SECONDS]]

  --only KINDS     takes only these kinds of jobs, separated by commas; as WORKER_ONLY
  --once           takes one job from the lightest CPU queue, finishes it and ends
  --queue NAME     with --once: takes the jobs of this queue, with its servers, until none is left, and ends
  --wait SECONDS   with --once: ends when no job came for this long; 10 by default`;

interface Once {
  readonly waitMs: number;
  /** Its jobs are taken until none is left; null: one job of the lightest CPU queue. */
  readonly queue: string | null;
}

export interface Flags {
  /** Overrides WORKER_ONLY. */
  readonly only: string | null;
  /** Null: the worker runs until it is stopped. */
  readonly once: Once | null;
  readonly wantsHelp: boolean;
}

export type ParsedFlags =
  | { readonly flags: Flags; readonly problem: null }
  | { readonly flags: null; readonly problem: string };

const options = {
  only: { type: "string" },
  once: { type: "boolean", default: false },
  queue: { type: "string" },
  wait: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

const defaultWaitS = 10;
const maxWaitS = 3_600;

/** Reads the command line; `problem` is the text for the user. */
export function parseFlags(args: readonly string[]): ParsedFlags {
  // Some package managers pass their own "--" on as the first argument.
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
  readonly queue?: string | undefined;
  readonly wait?: string | undefined;
  readonly help: boolean;
}

function check(given: Given): ParsedFlags {
  const { only, once, queue, wait, help } = given;
  const waitS = wait === undefined ? defaultWaitS : Number.parseFloat(wait);
  const problem = problemOf(given, waitS);
  if (problem !== null) return refuse(problem);
  const ofOnce = once ? { waitMs: waitS * 1_000, queue: queue ?? null } : null;
  return { flags: { only: only ?? null, once: ofOnce, wantsHelp: help }, problem: null };
}

function problemOf({ only, once, queue, wait }: Given, waitS: number): string | null {
  if (only?.trim() === "") return "--only needs kinds of jobs, separated by commas.";
  if (wait !== undefined && !once) return "--wait belongs to --once.";
  if (queue !== undefined && !once) return "--queue belongs to --once.";
  if (queue?.trim() === "") return "--queue needs the name of a queue.";
  return waitS >= 0 && waitS <= maxWaitS ? null : `--wait needs seconds, from 0 to ${maxWaitS}.`;
}

function refuse(problem: string): ParsedFlags {
  return { flags: null, problem: `${problem}\n\n${usage}` };
}

/** Arguments for the worker process that the supervisor starts; the kinds are passed as WORKER_ONLY instead. */
export function toArgs({ once }: Pick<Flags, "once">): string[] {
  if (!once) return [];
  const ofQueue = once.queue === null ? [] : ["--queue", once.queue];
  return ["--once", ...ofQueue, "--wait", String(once.waitMs / 1_000)];
}

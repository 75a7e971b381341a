import path from "node:path";
import pino, { type Logger } from "pino";
import type { Env } from "./env.ts";

export interface LogOptions {
  readonly env: Pick<Env, "LOG_LEVEL" | "ATELIER_DATA_DIR">;
  /** Name of the process; its files are `logs/<name>/combined` and `logs/<name>/error`. */
  readonly name: string;
}

const secretPaths = [
  "password",
  "*.password",
  "authorization",
  "*.authorization",
  "cookie",
  "*.cookie",
  "apiKey",
];

/** Structured lines to the console and to rotating files: all of them in `combined`, errors also in `error` (A2). */
export async function openLog({ env, name }: LogOptions): Promise<Logger> {
  // Three hundred files, which what reads the configuration alone does without.
  const { default: pinoRoll } = await import("pino-roll");
  const file = (label: string) =>
    pinoRoll({
      file: path.resolve(env.ATELIER_DATA_DIR, "logs", name, label),
      extension: ".log",
      size: "20m",
      limit: { count: 5 },
      mkdir: true,
      sync: false,
    });
  const [combined, error] = await Promise.all([file("combined"), file("error")]);
  const streams = pino.multistream([
    { level: "trace", stream: process.stdout },
    { level: "trace", stream: combined },
    { level: "error", stream: error },
  ]);
  return pino({ level: env.LOG_LEVEL, base: { process: name }, redact: secretPaths }, streams);
}

export type { Logger } from "pino";

import os from "node:os";
import path from "node:path";
import type { Services } from "@atelier/server/services";

/** The environment of another process on the same database, files and queue, as texts. */
export function processEnv({ env }: Pick<Services, "env">): NodeJS.ProcessEnv {
  const set = Object.entries(env).filter(([, value]) => value !== undefined);
  const texts = set.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : String(value)]);
  return {
    ...Object.fromEntries(texts),
    NODE_ENV: "test",
    PATH: process.env["PATH"],
    // Most of a start is compiling; tests start many processes on few cores.
    NODE_COMPILE_CACHE: path.join(os.tmpdir(), "atelier-test-compile-cache"),
  };
}

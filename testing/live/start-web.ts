import path from "node:path";
import type { Services } from "@atelier/server/services";
import { findFreePort } from "../../scripts/process/tools.ts";
import { killAtExit, runNode, type NodeRun } from "../processes/index.ts";
import { processEnv } from "../worker/index.ts";

/** A web process of its own over the given services' database and queue. */
export interface TestWeb {
  /** Stays the same over restarts. */
  readonly port: number;
  /** kill -9, and a new one; returns once that listens. */
  restart(): Promise<void>;
  kill9(): Promise<void>;
}

export async function startWeb(services: Pick<Services, "env">): Promise<TestWeb> {
  const port = await findFreePort();
  const launch = async (): Promise<NodeRun> => {
    const main = path.join(import.meta.dirname, "main.ts");
    const run = runNode([main], { ...processEnv(services), PORT: String(port) });
    killAtExit(run.child);
    await run.seen(/web listens/);
    return run;
  };
  let run = await launch();
  const kill9 = async () => {
    run.child.kill("SIGKILL");
    await run.ended;
  };
  return {
    port,
    kill9,
    restart: async () => {
      await kill9();
      run = await launch();
    },
  };
}

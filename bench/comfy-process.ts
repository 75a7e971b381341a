import path from "node:path";
import { killAtExit, runNode } from "@atelier/testing/processes";

/** A simulated ComfyUI server in a process of its own, so that it shares its loop with nobody who is measured. */
export interface ComfyProcess {
  readonly url: string;
  close(): Promise<void>;
}

const main = path.join(import.meta.dirname, "../testing/comfyui/main.ts");

export async function startComfyProcess({ stepMs }: { stepMs: number }): Promise<ComfyProcess> {
  const args = ["--port", "0", "--step-ms", String(stepMs), "--previews", "none"];
  const run = runNode([main, ...args]);
  killAtExit(run.child);
  const [, url = ""] = await run.seen(/listens on (\S+)/);
  return {
    url,
    async close() {
      run.child.kill("SIGTERM");
      await run.ended;
    },
  };
}

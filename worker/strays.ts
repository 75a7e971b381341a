import { cancelPrompt, readQueuedPrompts } from "./engines/comfyui/client/index.ts";
import { findStrays } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";
import { jobOfRun } from "./engines/index.ts";
import { startLoop, type Loop } from "./loop.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";

const strayMs = 10_000;
const cancelMostMs = 5_000;

type Input = Pick<Services, "db" | "log">;

/** Every few seconds: whatever a server still works on for a job that is over or went elsewhere is taken off it. */
export function startStrays(services: Input, pool: ServerPool): Loop {
  return startLoop(services.log, "strays", async () => {
    await takeOffStrays(services, pool);
    return strayMs;
  });
}

/** Servers that work on nothing but this node's own job are not asked. */
export async function takeOffStrays(services: Input, pool: ServerPool): Promise<void> {
  const asked = pool.list().filter(hasOthers);
  await Promise.all(
    asked.map((server) =>
      takeOff(services, pool, server).catch((error: unknown) =>
        services.log.debug({ err: error, server: server.label }, "prompts of a server not looked through"),
      ),
    ),
  );
}

function hasOthers({ engine, state, jobId, queueLength }: ServerState): boolean {
  return engine === "comfyui" && state !== "down" && (queueLength ?? 0) > (jobId === null ? 0 : 1);
}

async function takeOff(services: Input, pool: ServerPool, { url, label }: ServerState): Promise<void> {
  const address = pool.addressOf(url);
  if (!address) return;
  const signal = AbortSignal.timeout(cancelMostMs);
  const queued = await readQueuedPrompts(address, { signal });
  const ours = queued.flatMap((prompt) => {
    const jobId = jobOfRun(prompt);
    return jobId === null ? [] : [{ jobId, promptId: prompt.promptId }];
  });
  for (const { jobId, promptId } of await findStrays(services, ours)) {
    services.log.info({ server: label, jobId }, "a prompt that no job waits for is taken off");
    await cancelPrompt(address, promptId, { signal });
  }
}

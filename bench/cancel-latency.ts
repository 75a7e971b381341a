import { cancel } from "@atelier/server/jobs";
import { builtInWorkflows, buildGraph } from "@atelier/server/workflows";
import { interleave, quantile, show } from "./start-and-throughput.ts";
import type { Backend } from "./stage.ts";
import { openStudio, studioWorkflow, type Studio } from "./studio.ts";

const rounds = 10;
const stepMs = 50;
/** Far longer than a round takes. */
const steps = 100;
const pollMs = 5;

interface Times {
  readonly cancelledMs: number;
  readonly idleMs: number;
  readonly nextMs: number;
}

/** From the cancel of a running ComfyUI job to its last status, to an idle server and to the next job in its slot. */
export async function benchCancelLatency(backend: Backend): Promise<string[]> {
  const studio = await openStudio(backend, { stepMs });
  const results = await interleave<Partial<Times>>(rounds, {
    ours: async () => ({ ...(await cancelRunning(studio)), nextMs: await cancelBeforeAnother(studio) }),
    reference: async () => ({ idleMs: await interruptBare(studio.serverUrl) }),
  });
  await studio.close();
  const line = (what: string, times: readonly (number | undefined)[]) => {
    const known = times.map((ms) => ms ?? Number.NaN);
    return `${what}: p50 ${show(quantile(known, 0.5), 0)} ms, p95 ${show(quantile(known, 0.95), 0)} ms`;
  };
  const ours = results.map((round) => round.ours);
  return [
    line(
      "cancel to cancelled",
      ours.map(({ cancelledMs }) => cancelledMs),
    ),
    line(
      "cancel to an idle server",
      ours.map(({ idleMs }) => idleMs),
    ),
    line(
      "cancel to the next job's claim of the slot",
      ours.map(({ nextMs }) => nextMs),
    ),
    line(
      `POST /interrupt of a bare client to an idle server (steps of ${stepMs} ms)`,
      results.map(({ reference }) => reference.idleMs),
    ),
  ];
}

async function startRunning(studio: Studio): Promise<string> {
  const id = await studio.accept(steps);
  await studio.until(id, "processing");
  await untilQueue(studio.serverUrl, (running) => running > 0);
  return id;
}

async function cancelRunning(studio: Studio): Promise<Pick<Times, "cancelledMs" | "idleMs">> {
  const id = await startRunning(studio);
  const beganMs = performance.now();
  const cancelled = cancel(studio.stage.services, { ownerId: studio.stage.ownerId, id });
  const [cancelledMs, idleMs] = await Promise.all([
    cancelled.then(() => studio.until(id, "cancelled")).then(() => performance.now() - beganMs),
    untilQueue(studio.serverUrl, (running) => running === 0).then(() => performance.now() - beganMs),
  ]);
  return { cancelledMs, idleMs };
}

/** With a job that waits for the only slot: until it has it. */
async function cancelBeforeAnother(studio: Studio): Promise<number> {
  const { services, ownerId } = studio.stage;
  const id = await startRunning(studio);
  const next = await studio.accept(1);
  const beganMs = performance.now();
  await cancel(services, { ownerId, id });
  await studio.until(next, "waiting_for_engine", "processing", "completed");
  const tookMs = performance.now() - beganMs;
  await studio.until(next, "completed");
  return tookMs;
}

async function untilQueue(url: string, isReached: (running: number) => boolean): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/queue`);
    const queue: { queue_running: unknown[]; queue_pending: unknown[] } = JSON.parse(await answer.text());
    if (isReached(queue.queue_running.length + queue.queue_pending.length)) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function interruptBare(url: string): Promise<number> {
  const workflow = builtInWorkflows().find(({ name }) => name === studioWorkflow);
  if (!workflow) throw new Error(`there is no workflow ${studioWorkflow}`);
  const seed = Math.trunc(Math.random() * 2 ** 50);
  const params = { prompt: "a red chair", negativePrompt: "", width: 512, height: 512, guidance: 8 };
  const prompt = buildGraph(workflow, { params: { ...params, steps, seed }, images: {}, prefix: "bare/out" });
  const headers = { "content-type": "application/json" };
  await fetch(`${url}/prompt`, { method: "POST", headers, body: JSON.stringify({ prompt }) });
  await untilQueue(url, (running) => running > 0);
  const beganMs = performance.now();
  await fetch(`${url}/interrupt`, { method: "POST" });
  await untilQueue(url, (running) => running === 0);
  return performance.now() - beganMs;
}

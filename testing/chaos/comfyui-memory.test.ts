// @module-tag all
import { expect, test } from "vitest";
import { realTimeMs } from "../cases/index.ts";
import { readJob, readStory, until } from "../jobs/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually } from "./scene.ts";

const gib = 1024 ** 3;
const servers = [
  { device: { type: "cuda", vramTotalBytes: 6 * gib } },
  { device: { type: "cuda", vramTotalBytes: 24 * gib } },
  { device: { type: "cpu", vramTotalBytes: 16 * gib } },
] as const;

/** Where the job went after each failure, in words of its story. */
async function readWays({ services }: ComfyScene, id: string): Promise<unknown[]> {
  const story = await readStory(services, id);
  return story
    .filter(({ type }) => type === "requeued")
    .map(({ data }) => [data["code"], data["server"], data["next"]]);
}

/** Without a model loaded it is chosen by its turn again. */
async function startEmpty(scene: ComfyScene, server: ComfyScene["servers"][number]): Promise<void> {
  await server.kill();
  await eventually(() => scene.stateOf(server), "down");
  await server.restart();
  await eventually(() => scene.stateOf(server), "healthy");
}

test.concurrent(
  "F27 D8 out of memory: freed, to more memory, else to the CPU as a downgrade that is shown; kept out after two in a row and back after a probe",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished, { servers });
    const { services } = scene;
    const [small, big, cpu] = scene.servers;
    if (!small || !big || !cpu) throw new Error("a server is missing");
    await scene.startComfyWorker();
    const code = "gpu_out_of_memory";

    small.inject({ kind: "gpu-out-of-memory" });
    const first = await scene.submitWords();
    expect(await until(services, first, "completed")).toMatchObject({
      server: big.url,
      charged: 0,
      queue: "gpu-high",
    });
    expect(await readWays(scene, first)).toEqual([[code, small.url, "more_memory"]]);
    expect((await readJob(services, first)).placement?.downgrade).toBeUndefined();
    await eventually(() => small.stats().frees, 1);
    await startEmpty(scene, big);

    small.inject({ kind: "gpu-out-of-memory" });
    big.inject({ kind: "gpu-out-of-memory" });
    const second = await scene.submitWords();
    expect(await until(services, second, "completed")).toMatchObject({
      server: cpu.url,
      queue: "cpu-light",
      charged: 0,
      placement: { downgrade: { from: "comfyui/t2i_sd15", queue: "gpu-high", reason: code } },
    });
    expect(await readWays(scene, second)).toEqual([
      [code, small.url, "more_memory"],
      [code, big.url, "cpu_queue"],
    ]);
    await eventually(() => scene.stateOf(small), "degraded");
    const third = await scene.submitWords();
    expect(await until(services, third, "completed")).toMatchObject({ server: big.url, charged: 0 });

    await eventually(() => scene.stateOf(small), "healthy");
    expect(small.stats().frees).toBe(2);
    await startEmpty(scene, big);
    const fourth = await scene.submitWords();
    expect(await until(services, fourth, "completed")).toMatchObject({ server: small.url, attempt: 1 });
    expect(await scene.faults()).toEqual([]);
  },
);

// @module-tag all
import { expect, test } from "vitest";
import { realTimeMs } from "../cases/index.ts";
import { readJob, readStory, untilAll } from "../jobs/index.ts";
import { openComfyScene } from "./comfy-scene.ts";
import { eventually } from "./scene.ts";

test.concurrent(
  "F27 a server whose process has lost its card rests until its restart; its jobs wait for it, and one try alone is charged",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openComfyScene(onTestFinished, { servers: [{}] });
    const { services } = scene;
    const [server] = scene.servers;
    if (!server) throw new Error("the server is missing");
    await scene.startComfyWorker();
    server.inject({ kind: "card-lost" });
    const ids = [await scene.submitWords(), await scene.submitWords(), await scene.submitWords()];
    const tries = () => server.prompts().length;
    await eventually(() => tries() >= 2, true);
    await eventually(() => scene.stateOf(server), "degraded");
    const waiting = await Promise.all(ids.map((id) => readJob(services, id)));
    expect(waiting.map(({ status }) => status)).not.toContain("failed");
    await server.restart();
    const jobs = await untilAll(services, ids, { statuses: ["completed"] });
    expect(jobs.reduce((sum, { charged }) => sum + charged, 0)).toBe(1);
    const stories = await Promise.all(ids.map((id) => readStory(services, id)));
    const codes = stories.flat().flatMap(({ type, data }) => (type === "requeued" ? [data["code"]] : []));
    expect(codes).toEqual(expect.arrayContaining(["engine_failed", "server_lost"]));
    expect(codes).toHaveLength(2);
    expect(await scene.faults()).toEqual([]);
  },
);

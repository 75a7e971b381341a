import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { cancel, claim, handBack, type Lease, noteSubmission } from "@atelier/server/jobs";
import { readTurnFigures } from "@atelier/server/leases";
import { loadMessages } from "@atelier/server/words";
import {
  type ComfySimulator,
  type PromptStory,
  readGraph,
  startComfySimulator,
} from "@atelier/testing/comfyui";
import { addJob, addNode, addOwner, localOffers, type TestOwner, testQueue } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { postPrompt } from "./clients/comfyui/index.ts";
import { cancelOrphanedPrompts, startDuties } from "./duties.ts";
import { createServerPool, createSources, type ServerPool } from "./servers/index.ts";

let opened: TestServices;
afterAll(() => opened.close());

/** Their loops begin later, or need a model. */
const withLoopsOfTheirOwn = ["archivist", "descriptions of pictures", "picture vectors", "vectors"];

test("a worker does all recurring work that the admin's page has a name for", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  const { names } = (await loadMessages("en")).admin.duties;
  const awaited = Object.values(names).filter((name) => !withLoopsOfTheirOwn.includes(name));
  const duties = startDuties(services);
  onTestFinished(async () => {
    await duties.stop();
    await fixture.close();
  });
  await vi.waitFor(
    async () => {
      const turns = await readTurnFigures(services);
      const done = turns.filter(({ doneAgeMs }) => doneAgeMs !== null).map(({ name }) => name);
      expect(done.toSorted()).toEqual(awaited.toSorted());
    },
    { timeout: 60_000, interval: 500 },
  );
});

describe("orphaned prompts", () => {
  let owner: TestOwner;
  let server: ComfySimulator;
  let pool: ServerPool;
  beforeAll(async () => {
    opened = await createTestServices();
    owner = await addOwner(opened.services);
  });
  beforeEach(async () => {
    const { config, log } = opened.services;
    server = await startComfySimulator();
    pool = createServerPool({
      sources: createSources({ COMFYUI_URLS: [server.url], COMFYUI_DISCOVERY: [], IOPAINT_URLS: [] }).sources,
      workflows: () => [],
      config: { ...config, timing: { ...config.timing, probeMs: 100 } },
      log,
    });
    await pool.start();
    onTestFinished(async () => {
      await pool.stop();
      await server.close();
    });
  });

  async function claimJob(): Promise<Lease> {
    const { services } = opened;
    const nodeId = await addNode(services);
    await addJob(services, { owner });
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    if (!job) throw new Error("the job was not claimed");
    return { jobId: job.id, attempt: job.attempt, nodeId };
  }

  /** Posts to the server what a run of the job posts. */
  async function postFor(jobId: string): Promise<string> {
    const promptId = randomUUID();
    const graph = structuredClone(readGraph("t2i_sd15"));
    for (const { class_type, inputs } of Object.values(graph)) {
      if (class_type === "SaveImage") inputs["filename_prefix"] = `atelier/${jobId}-${promptId.slice(0, 8)}`;
      // Words that look like the name of another run.
      if (class_type === "CLIPTextEncode") inputs["text"] = `atelier/${randomUUID()}-12345678 a chair`;
    }
    const { signal } = new AbortController();
    await postPrompt(server, { graph, promptId, clientId: promptId }, { signal });
    return promptId;
  }

  /** A job as a worker leaves it that stopped: at work on the server, and to be taken up again. */
  async function leaveBehind(): Promise<{ lease: Lease; promptId: string }> {
    const lease = await claimJob();
    const promptId = await postFor(lease.jobId);
    await noteSubmission(opened.services, lease, { server: server.url, externalId: promptId });
    return { lease, promptId };
  }

  const untilQueued = (length: number) =>
    vi.waitUntil(() => pool.list()[0]?.queueLength === length, { timeout: 10_000 });
  const storyOf = (promptId: string) => server.prompts().find((story) => story.promptId === promptId);
  /** A server that is slow to answer is left for the next time. */
  const cancelUntil = (promptId: string, story: Partial<PromptStory>) =>
    vi.waitFor(async () => {
      await cancelOrphanedPrompts(opened.services, pool);
      expect(storyOf(promptId)).toMatchObject(story);
    });

  test("F3 F36 a job that is cancelled while it waits to be adopted leaves nothing on its server", async () => {
    const { services } = opened;
    server.inject({ kind: "hang" });
    const { lease, promptId } = await leaveBehind();
    await handBack(services, lease);
    await untilQueued(1);
    await cancelOrphanedPrompts(services, pool);
    expect(storyOf(promptId)).toMatchObject({ started: 1, interrupted: 0 });
    await cancel(services, { ownerId: owner.userId, id: lease.jobId });
    await cancelUntil(promptId, { interrupted: 1, finished: 0 });
  });

  test("F3 a prompt whose job was posted anew is taken off; what others posted, and what may be adopted, stays", async () => {
    const { services } = opened;
    server.inject({ kind: "hang" });
    const adoptable = await leaveBehind();
    const old = await leaveBehind();
    await noteSubmission(services, old.lease, { server: "http://other.test", externalId: randomUUID() });
    const foreign = [await postFor(randomUUID()), await postFor("somebody")];
    await untilQueued(4);
    await cancelUntil(old.promptId, { deleted: 1, started: 0 });
    const kept = [adoptable.promptId, ...foreign].map((id) => storyOf(id));
    expect(kept.map((story) => [story?.deleted, story?.interrupted])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  test("F3 a server that works on nothing but this node's own job is not asked", async () => {
    server.inject({ kind: "hang" });
    const { lease } = await leaveBehind();
    const { signal } = new AbortController();
    const held = await pool.acquireHolder({
      url: server.url,
      jobId: lease.jobId,
      patienceMs: 0,
      signal,
    });
    await untilQueued(1);
    await cancelOrphanedPrompts(opened.services, pool);
    expect(server.stats().requests["GET /queue"]).toBeUndefined();
    held?.release();
  });
});

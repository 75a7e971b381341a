import { readdir } from "node:fs/promises";
import path from "node:path";
import { claim } from "@atelier/server/jobs";
import { addJob, addNode, addOwner, localOffers, readJob, testQueue } from "@atelier/testing/jobs";
import { listTempFiles } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine } from "./engines/index.ts";
import { runJob } from "./run-job.ts";

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("D12 a run works below the data folder, where the sweep finds what a killed worker leaves", async () => {
  const { services } = opened;
  const nodeId = await addNode(services);
  const id = await addJob(services, { owner: await addOwner(services) });
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  const seen: { inFolder: string[]; parent: string }[] = [];
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    async run({ workDir, inputs }) {
      seen.push({ inFolder: await readdir(workDir), parent: path.dirname(workDir) });
      return [{ path: String(inputs.image), mime: "image/png" }];
    },
    close: () => Promise.resolve(),
  };
  const lease = { jobId: id, attempt: job.attempt, nodeId };
  await runJob(services, { job, lease, engine, otherServers: [], signal: new AbortController().signal });
  expect(seen).toEqual([{ inFolder: ["image"], parent: path.resolve(services.env.ATELIER_DATA_DIR, "tmp") }]);
  expect((await readJob(services, id)).status).toBe("completed");
  expect(await listTempFiles(services)).toEqual([]);
});

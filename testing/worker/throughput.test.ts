import { submit } from "@atelier/server/jobs";
import { expect } from "vitest";
import { backends, forCases } from "../cases/index.ts";
import { addOwner, untilAll } from "../jobs/index.ts";
import { createTestServices } from "../services/index.ts";
import { startTestWorker } from "./start-test-worker.ts";

const jobCount = 100;

// How many a second is measured in bench/scale-out.ts: a test that shares its processors cannot say.
forCases(
  "D13 a hundred jobs in line go through one worker on %s, each once, at the first try and uncharged",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const opened = await createTestServices({ backend });
    onTestFinished(() => opened.close());
    const { services } = opened;
    const worker = await startTestWorker(services, { slots: 2 });
    onTestFinished(() => worker.kill9());
    const owner = await addOwner(services);
    const request = { kind: "upscale", engine: "local", inputs: { image: owner.imageId } };
    const ids: string[] = [];
    for (let count = 0; count < jobCount; count += 1)
      ids.push((await submit(services, request, { submitter: owner })).id);
    const jobs = await untilAll(services, ids, { statuses: ["completed"] });
    expect(jobs).toHaveLength(jobCount);
    expect(jobs.every(({ attempt, charged }) => attempt === 1 && charged === 0)).toBe(true);
  },
);

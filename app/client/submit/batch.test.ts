import { beforeEach, describe, expect, test, vi } from "vitest";
import type { BatchInput } from "@atelier/server/batches";
import { NotWanted } from "../../ui/failures.ts";
import type { api } from "../api.ts";
import { firstQuestion } from "./agreement.ts";
import { submitBatch, withChoice } from "./batch.ts";
import { createSubmission } from "./submission.ts";

const estimate = vi.hoisted(() => vi.fn<() => Promise<object>>());
vi.mock("../api.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  api: { batches: { estimate: { mutate: estimate } } },
}));

const cup = { kind: "text_to_image", inputs: {}, params: { prompt: "a cup" } } as const;

test("a batch in either form keeps all its jobs on own machines where the user chose so", () => {
  expect(withChoice({ jobs: [cup, cup] }, true)).toEqual({
    jobs: [
      { ...cup, ownOnly: true },
      { ...cup, ownOnly: true },
    ],
  });
  const axes = [{ param: "seed", values: [1, 2] }];
  expect(withChoice({ base: cup, axes }, true)).toEqual({ base: { ...cup, ownOnly: true }, axes });
  expect(withChoice({ base: cup, axes }, false)).toEqual({ base: cup, axes });
});

describe("E8 a batch takes the path of everything that may cost money", () => {
  let priceUsd: number | null = 0.1;
  beforeEach(() => {
    priceUsd = 0.1;
    const cloud = { title: "The painter", provider: "fal", priceUsd: 9, maxPriceUsd: 9 };
    estimate.mockImplementation(async () => ({ cloud, cloudJobs: 2, maxPriceUsd: priceUsd }));
  });

  /** A server that makes a batch for the price of now, or refuses it as too dear. */
  function openServer(refuse: () => object | null = () => null) {
    const sent: { readonly maxPriceUsd: number | undefined; readonly key: string }[] = [];
    const submission = createSubmission("batch", async ({ maxPriceUsd }: BatchInput, key) => {
      sent.push({ maxPriceUsd, key });
      const isDearer = priceUsd === null || (maxPriceUsd ?? 0) < priceUsd;
      const details = refuse() ?? (isDearer ? { priceUsd, maxPriceUsd } : null);
      if (details !== null) throw Object.assign(new Error("no"), { code: "not_agreed", details });
      return { id: `batch of ${key}` } as Awaited<ReturnType<typeof api.batches.submit.mutate>>;
    });
    return { sent, submission };
  }

  const wanted = { input: { jobs: [cup, cup] } };
  const asked = () => vi.waitFor(() => firstQuestion() ?? Promise.reject(new Error("nothing is asked")));

  test("what was shown is sent, and a new price is asked about, of each picture, under the same key", async () => {
    const { sent, submission } = openServer();
    const started = submitBatch(submission, { ...wanted, shownUsd: 0.08 });
    const question = await asked();
    expect(question).toMatchObject({ cloud: { priceUsd: 0.05, maxPriceUsd: 0.05 }, count: 2 });
    priceUsd = 0.12;
    question.answer({ maxPriceUsd: 0.05 });
    const second = await asked();
    expect(second.cloud.priceUsd).toBe(0.06);
    second.answer({ maxPriceUsd: 0.06 });
    expect(await started).toMatchObject({ id: expect.any(String) });
    expect(sent.map(({ maxPriceUsd }) => maxPriceUsd)).toEqual([0.08, 0.1, 0.12]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  });

  test("a batch whose estimate is free and whose submit is refused as dearer is refused after one more try", async () => {
    const { sent, submission } = openServer(() => ({ priceUsd: 0.08, maxPriceUsd: 0 }));
    priceUsd = 0;
    const refusal = { code: "not_agreed", details: { priceUsd: 0.08 } };
    await expect(submitBatch(submission, { ...wanted, shownUsd: 0.02 })).rejects.toMatchObject(refusal);
    expect(sent.map(({ maxPriceUsd }) => maxPriceUsd)).toEqual([0.02, 0]);
    await expect(submitBatch(submission, wanted)).rejects.toMatchObject(refusal);
    expect(sent).toHaveLength(3);
    expect(firstQuestion()).toBeNull();
  });

  test("what was not shown is asked for first, and who does not agree starts nothing", async () => {
    const { sent, submission } = openServer();
    const started = submitBatch(submission, wanted);
    (await asked()).answer(null);
    await expect(started).rejects.toBeInstanceOf(NotWanted);
    expect(sent).toEqual([]);
  });

  test("a price that is not known, and the refusal of one job, are no questions", async () => {
    const ofOneJob = { cloud: { title: "The painter" }, position: 1 };
    const refused = submitBatch(openServer(() => ofOneJob).submission, { ...wanted, shownUsd: 1 });
    await expect(refused).rejects.toMatchObject({ details: ofOneJob });
    priceUsd = null;
    const unknown = submitBatch(openServer().submission, { ...wanted, shownUsd: 1 });
    await expect(unknown).rejects.toMatchObject({ details: { priceUsd: null } });
    expect(firstQuestion()).toBeNull();
  });
});

import { prices } from "../testing/config/prices.ts";
import { handleProviderWebhook } from "@atelier/server/api";
import { schema } from "@atelier/server/db";
import { endCall, nextHop, readJob, submit } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import { findModel, modelsOf, ProviderError, readKeys } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { startTestPostgres } from "@atelier/testing/postgres";
import { type ProviderFault, startProviders } from "@atelier/testing/providers";
import { createTestServices } from "@atelier/testing/services";
import { startTestWorker } from "@atelier/testing/worker";
import { quantile, show } from "./start-and-throughput.ts";

const rounds = 200;
const names = ["google", "fal", "replicate"] as const;
const limits = Object.fromEntries(names.map((name) => [name, { maxConcurrent: 10_000, rpm: 100_000 }]));
const noCaps = { userDailyUsd: null, userMonthlyUsd: null, studioDailyUsd: null, studioMonthlyUsd: null };

interface Bench {
  readonly services: Services;
  readonly providers: Awaited<ReturnType<typeof startProviders>>;
  readonly ownerId: string;
  close(): Promise<void>;
}

async function open(env: Readonly<Record<string, string>> = {}): Promise<Bench> {
  const postgres = await startTestPostgres();
  const providers = await startProviders([...names]);
  const cloud = { prices, providers: limits, caps: noCaps, pollS: 0.1, maxPollS: 0.5, reconcileS: 5 };
  const opened = await createTestServices({ env: { ...providers.env, ...env }, config: { cloud } });
  const ownerId = newId();
  await opened.services.db
    .insert(schema.users)
    .values({ id: ownerId, name: "Bench", email: `${ownerId}@example.test` });
  return {
    services: opened.services,
    providers,
    ownerId,
    async close() {
      await opened.close();
      await providers.close();
      await postgres.stop();
    },
  };
}

/** A job as a worker holds it at its submit, without a worker. */
async function insertHeld({ services, ownerId }: Bench, nodeId: string) {
  const id = newId();
  await services.db.insert(schema.jobs).values({
    id,
    ownerId,
    kind: "text_to_image",
    status: "processing",
    tier: 1,
    params: { prompt: "x" },
    queue: "cloud",
    engine: "cloud",
    model: "nano-banana",
    need: "cloud/nano-banana",
    attempt: 1,
    nodeId,
  });
  const job = await readJob(services, id);
  if (!job) throw new Error("the job is gone");
  return { job, lease: { jobId: id, attempt: 1, nodeId } };
}

async function timed<T>(into: number[], work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await work();
  into.push(performance.now() - startMs);
  return result;
}

/** P10: what the chain costs before the first call and between two providers, beside a direct call of a provider. */
export async function benchChain(): Promise<string[]> {
  const bench = await open();
  const { services, providers } = bench;
  const model = findModel(modelsOf(services.config), "nano-banana");
  if (!model) throw new Error("the model is gone");
  const keys = readKeys(services.env);
  const [first, hop, direct, trip] = [[], [], [], []] as number[][] as [
    number[],
    number[],
    number[],
    number[],
  ];
  for (let round = 0; round < rounds; round += 1) {
    const { job, lease } = await insertHeld(bench, newId());
    const run = { job, lease, model, keys };
    const chosen = await timed(first, () => nextHop(services, run));
    await timed(direct, () =>
      fetch(`${providers.simulators.replicate.origin}/v1/predictions`).then((r) => r.text()),
    );
    await timed(trip, () => services.db.execute("select 1"));
    if (chosen.kind !== "call") throw new Error(`no call but ${chosen.kind}`);
    // A refusal of the input says nothing about the provider, so none cools down.
    const error = new ProviderError("input", "bench");
    await timed(hop, async () => {
      await endCall(services, { lease, attempt: chosen.attempt }, { as: "refused", error, costUsd: null });
      await nextHop(services, run);
    });
    await services.db.execute(
      "update provider_attempts set state = 'failed', error_class = 'input', ended_at = now() where ended_at is null",
    );
  }
  await bench.close();
  const p50 = (values: readonly number[]) => quantile(values, 0.5);
  return [
    `choice of the first provider, stored: p50 ${show(p50(first))} ms, p95 ${show(quantile(first, 0.95))} ms`,
    `hop to the next one: p50 ${show(p50(hop))} ms, p95 ${show(quantile(hop, 0.95))} ms`,
    `a direct call of a simulated provider: p50 ${show(p50(direct))} ms; a round trip to the database: ${show(p50(trip))} ms`,
  ];
}

/** How long the answer to a provider's webhook takes. */
export async function benchWebhooks(): Promise<string[]> {
  const bench = await open();
  const { services } = bench;
  const tookMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const token = newId();
    await services.db.insert(schema.providerAttempts).values({
      id: newId(),
      provider: "fashn",
      keyId: "bench",
      model: "fashn-tryon",
      endpoint: "tryon-v1.6",
      state: "accepted",
      externalId: token,
      token,
    });
    const request = new Request(`http://127.0.0.1/api/webhooks/fashn/${token}`, {
      method: "POST",
      body: JSON.stringify({ id: token, status: "completed" }),
    });
    const { status } = await timed(tookMs, () => handleProviderWebhook(services, request));
    if (status !== 204) throw new Error(`the webhook answered ${status}`);
  }
  await bench.close();
  return [
    `answer to a webhook: p50 ${show(quantile(tookMs, 0.5))} ms, p95 ${show(quantile(tookMs, 0.95))} ms (bound 50 ms)`,
  ];
}

const jobsPerFault = 60;
const faults = [null, "refuse", "rate", "garbage", "hang"] as const satisfies (ProviderFault | null)[];

/** R6: jobs that succeed while the first provider of their chain misbehaves, and what all providers would charge. */
export async function benchFaultyProvider(): Promise<string[]> {
  const lines: string[] = [];
  for (const fault of faults) {
    const bench = await open();
    const { services, providers, ownerId } = bench;
    providers.simulators.fal.fault = fault;
    const worker = await startTestWorker(services, { config: "wideCloud" });
    await services.db
      .insert(schema.modelChains)
      .values({ model: "nano-banana", providers: ["fal", "google", "replicate"] });
    const ids: string[] = [];
    for (let number = 0; number < jobsPerFault; number += 1) {
      const request = { kind: "text_to_image", model: "nano-banana", params: { prompt: `job ${number}.` } };
      ids.push((await submit(services, request, { submitter: { userId: ownerId, isGuest: false } })).id);
    }
    const count = async (status: "completed" | "failed") => {
      const [row] = await services.db.execute<{ n: number }>(
        `select count(*)::int as n from jobs where status = '${status}'`,
      );
      return row?.n ?? 0;
    };
    const endMs = performance.now() + 240_000;
    while ((await count("completed")) + (await count("failed")) < ids.length && performance.now() < endMs)
      await new Promise((resolve) => setTimeout(resolve, 200));
    const charged = Object.values(providers.simulators).flatMap((simulator) => simulator.charged());
    const twice = ids.filter(
      (_, at) => charged.filter(({ input }) => JSON.stringify(input).includes(`job ${at}.`)).length > 1,
    );
    lines.push(
      `first provider ${fault ?? "well"}: ${await count("completed")} of ${ids.length} completed, ${await count("failed")} failed, ${twice.length} paid twice, ${providers.simulators.fal.submits.length} requests to it`,
    );
    await worker.kill9();
    await bench.close();
  }
  return lines;
}

import { expect, test, vi } from "vitest";
import { clientOf } from "./clients.ts";
import { serveAnswers } from "@atelier/testing/http";
import { failureOf, json, startProvider, startScripted } from "@atelier/testing/providers";

const webhookUrl = "https://studio.example.org/api/webhooks/replicate/one";
const submittedAt = new Date("2026-11-01T12:00:00Z");
const other = { id: "p2", webhook: "https://elsewhere.example.org/", created_at: "2026-11-01T12:00:05Z" };
const wanted = { ...other, id: "p1", webhook: webhookUrl };

async function open(onFinished: (end: () => Promise<void>) => void) {
  const replicate = await startScripted("replicate", "/v1");
  onFinished(() => replicate.close());
  const find = () =>
    clientOf("replicate").find?.(
      replicate.access,
      { webhookUrl, submittedAt },
      AbortSignal.timeout(30_000),
    ) ?? Promise.reject(new Error("Replicate lists its runs"));
  const next = (page: number) => `${replicate.access.baseUrl}/predictions?page=${page}`;
  return { replicate, find, next };
}

test("F3 R1 a lost call is found on a later page of the list, or is not in it", async ({
  onTestFinished,
}) => {
  const { replicate, find, next } = await open(onTestFinished);
  replicate.answer = ({ path }) =>
    path.endsWith("page=2")
      ? json({ results: [wanted], next: null })
      : json({ results: [other], next: next(2) });
  expect(await find()).toMatchObject({ externalId: "p1" });
  replicate.answer = json({ results: [other], next: null });
  expect(await find()).toBeNull();
  const older = { ...other, created_at: "2026-11-01T11:00:00Z" };
  replicate.answer = json({ results: [older], next: next(2) });
  expect(await find()).toBeNull();
});

test("R1 F20 what is no whole list says nothing about a lost call, which is not made again for it", async ({
  onTestFinished,
}) => {
  const { replicate, find, next } = await open(onTestFinished);
  replicate.answer = { type: "text/html", body: "<html>Welcome</html>" };
  expect(await failureOf(find())).toEqual(["internal", null]);
  replicate.answer = json({ detail: "later" }, 503);
  expect(await failureOf(find())).toEqual(["transient", null]);
  replicate.answer = json({ results: [other], next: "https://elsewhere.example.org/v1/predictions" });
  expect(await failureOf(find())).toEqual(["internal", null]);
  let page = 1;
  replicate.answer = () => json({ results: [other], next: next((page += 1)) });
  expect(await failureOf(find())).toEqual(["internal", null]);
});

test("R1 the list names no webhook, and each prediction its own: the lost call is found in those of its time", async ({
  onTestFinished,
}) => {
  const { replicate, find } = await open(onTestFinished);
  const known = [other, wanted, { ...other, id: "p3", created_at: "2026-11-01T11:00:00Z" }];
  const results = known.map(({ id, created_at }) => ({ id, created_at }));
  const asked: string[] = [];
  const readBy = (all: readonly object[]) => {
    replicate.answer = ({ path }) => {
      const id = /predictions\/(\w+)/.exec(path)?.[1];
      if (id === undefined) return json({ results, next: null });
      asked.push(id);
      return json(all.find((one) => "id" in one && one.id === id) ?? { detail: "none" });
    };
  };
  readBy(known);
  expect(await find()).toMatchObject({ externalId: "p1" });
  expect(asked).toEqual(["p2", "p1"]);
  readBy(known.map((one) => ({ ...one, webhook: null })));
  expect(await find()).toBeNull();
  // Where none names one, a paid run may be among them: it is not made again.
  readBy(results);
  expect(await failureOf(find())).toEqual(["internal", null]);
});

/** A simulator, and where its webhooks arrive. */
async function openSimulated(onFinished: (end: () => Promise<void>) => void) {
  const { simulator, access } = await startProvider("replicate");
  onFinished(() => simulator.close());
  const arrivals = await serveAnswers(() => ({ status: 204 }));
  onFinished(() => arrivals.close());
  const client = clientOf("replicate");
  const signal = new AbortController().signal;
  const submit = () =>
    client.submit(
      access,
      {
        endpoint: "owner/model",
        kind: "text_to_image",
        input: { prompt: "p" },
        idempotencyKey: "k",
        webhookUrl: `${arrivals.url}/hook`,
        beforePaid: () => Promise.resolve(),
      },
      signal,
    );
  return { simulator, arrivals, access, client, signal, submit };
}

test("E6 only the end of a run is asked to be reported", async ({ onTestFinished }) => {
  const { simulator, arrivals, submit } = await openSimulated(onTestFinished);
  await submit();
  expect([...simulator.runs.values()].map(({ events }) => events)).toEqual([["completed"]]);
  await vi.waitFor(() =>
    expect(arrivals.requests.map(({ body }) => JSON.parse(body).status)).toEqual(["succeeded"]),
  );
});

test("F21 reports that come twice and out of order name one run, which tells its end itself", async ({
  onTestFinished,
}) => {
  const { simulator, arrivals, access, client, signal, submit } = await openSimulated(onTestFinished);
  simulator.reportedEvents = ["completed", "start", "completed", "output", "start"];
  const { handle } = await submit();
  await vi.waitFor(() => expect(arrivals.requests).toHaveLength(5));
  const told = arrivals.requests.map(({ body }) => JSON.parse(body).status);
  expect(told).toEqual(["succeeded", "starting", "succeeded", "processing", "starting"]);
  for (const { body, headers } of arrivals.requests) {
    const single = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const request = { rawBody: Buffer.from(body), headers: Object.fromEntries(single) };
    expect(await client.verifyWebhook(access, request, signal)).toEqual({ externalId: handle.externalId });
    expect(await client.get(access, handle, signal)).toMatchObject({ state: "succeeded" });
  }
});

test("an address for webhooks that is no HTTPS is a wrong field, and starts nothing", async ({
  onTestFinished,
}) => {
  const { simulator, submit } = await openSimulated(onTestFinished);
  simulator.isHttpsOnly = true;
  expect(await failureOf(submit())).toEqual(["input", null]);
  expect(simulator.runs.size).toBe(0);
});

test("what a run made and Replicate has removed is lost, and no picture", async ({ onTestFinished }) => {
  const { simulator, access, client, signal, submit } = await openSimulated(onTestFinished);
  simulator.isResultGone = true;
  simulator.end = "never";
  const { handle } = await submit();
  for (const run of simulator.runs.values()) simulator.finish(run, "succeeded");
  expect(await client.get(access, handle, signal)).toMatchObject({
    state: "failed",
    error: { class: "lost" },
  });
});

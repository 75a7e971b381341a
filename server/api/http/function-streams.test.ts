import { afterEach, beforeAll, afterAll, expect, test, vi } from "vitest";
import { insertJob } from "@atelier/testing/jobs";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { schema } from "../../db/index.ts";
import { cancel, jobSource, type JobsUpdate, moveInLine } from "../../jobs/index.ts";
import { watch } from "../../live/index.ts";
import type { Services } from "../../services.ts";
import { createHttpApp } from "../index.ts";
import { streamTimesOf } from "../requests.ts";

const FUNCTION_SECONDS = 60;

let opened: TestServices;
let services: Services;
let owner: TestOwner;

beforeAll(async () => {
  opened = await createTestServices();
  services = { ...opened.services, env: { ...opened.services.env, FUNCTION_SECONDS } };
  owner = await openOwner(services, "owner@example.com");
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => opened.close());

/** Lets the time pass after which streams of a function end. */
function passTime(): void {
  const now = performance.now.bind(performance);
  const { lengthMs } = streamTimesOf(services.env);
  vi.spyOn(performance, "now").mockImplementation(() => now() + lengthMs);
}

function addWaiting(): Promise<string> {
  const { caller, imageId } = owner;
  return insertJob(services, { owner: { userId: caller.userId, isGuest: false, imageId } });
}

async function follow(id: string, lastEventId: number, onText: (text: string) => void): Promise<string> {
  const headers = { authorization: `Bearer ${owner.apiKey}`, "last-event-id": String(lastEventId) };
  const request = new Request(`${testOrigin}/api/v1/jobs/${id}/events`, { headers });
  const response = await createHttpApp(services).fetch(request);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk);
    onText(text);
  }
  return text;
}

const idsOf = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

test("streams leave a part of a function's time for their end, and elsewhere last as long as before", () => {
  expect(streamTimesOf({ FUNCTION_SECONDS: 60 })).toEqual({ lengthMs: 48_000, stalledMs: 49_000 });
  expect(streamTimesOf({ FUNCTION_SECONDS: 300 })).toEqual({ lengthMs: 280_000, stalledMs: 281_000 });
  expect(streamTimesOf({ FUNCTION_SECONDS: undefined })).toEqual({
    lengthMs: 1_500_000,
    stalledMs: 1_560_000,
  });
});

test("D7 an event stream ends in time, and Last-Event-ID goes on there without a gap and without a repeat", async () => {
  const [other, id] = [await addWaiting(), await addWaiting()];
  const before = { ownerId: owner.caller.userId };
  const first = await follow(id, 0, (text) => {
    if (idsOf(text).length > 0) passTime();
  });
  vi.restoreAllMocks();
  // What happens while no stream is open.
  await moveInLine(services, { ...before, id, before: other });
  await cancel(services, { ...before, id });
  const seen = idsOf(first);
  const second = await follow(id, seen.at(-1) ?? 0, () => undefined);
  const { jobEvents } = schema;
  const stored = (await services.db.select().from(jobEvents)).filter(({ jobId }) => jobId === id);
  expect(stored.length).toBeGreaterThan(1);
  expect([...seen, ...idsOf(second)]).toEqual(
    stored.map(({ revision }) => revision).toSorted((a, b) => a - b),
  );
});

test("D7 the studio's stream ends in time, and the next one has what changed meanwhile", async () => {
  const ownerId = owner.caller.userId;
  const id = await addWaiting();
  const { signal } = new AbortController();
  const told: JobsUpdate[] = [];
  for await (const update of watch(services, [jobSource], { ownerId, since: null, signal })) {
    told.push(update);
    passTime();
  }
  vi.restoreAllMocks();
  const last = told.findLast((update) => update.type !== "progress");
  await cancel(services, { ownerId, id });
  const since = new Date(last && "at" in last ? last.at : 0);
  const next = watch(services, [jobSource], { ownerId, since, signal });
  const { value } = await next.next();
  await next.return(undefined);
  expect(value).toMatchObject({
    type: "snapshot",
    jobs: expect.arrayContaining([expect.objectContaining({ id, status: "cancelled" })]),
  });
});

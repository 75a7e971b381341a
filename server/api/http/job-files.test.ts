import { once } from "node:events";
import { Readable } from "node:stream";
import { addNode, addServer } from "@atelier/testing/jobs";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import type { Hono } from "hono";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { createHttpApp, handleTrpc } from "../index.ts";
import { places, takePlace } from "../../platform/index.ts";
import { streamTimesOf } from "../requests.ts";
import { streamLimits } from "../../live/index.ts";
import { holdStreamSlot, servedStream, zipStream } from "./streams.ts";

let fixture: TestServices;
let app: Hono;
let owner: TestOwner;
let followed = 0;

beforeAll(async () => {
  fixture = await createTestServices();
  app = createHttpApp(fixture.services);
  owner = await openOwner(fixture.services, "owner@example.com");
  const { hints } = fixture.services;
  const subscribe = hints.subscribe.bind(hints);
  // The feed subscribes with its first watcher and leaves with its last.
  vi.spyOn(hints, "subscribe").mockImplementation((listener) => {
    followed += 1;
    const unsubscribe = subscribe(listener);
    return () => {
      followed -= 1;
      unsubscribe();
    };
  });
});
afterAll(() => fixture.close());
afterEach(async () => {
  await vi.waitUntil(() => followed === 0);
});

function ask(path: string, { method = "GET", signal }: { method?: string; signal?: AbortSignal } = {}) {
  const headers = { authorization: `Bearer ${owner.apiKey}` };
  const request = new Request(`${testOrigin}/api/v1/jobs/${owner.jobId}${path}`, {
    method,
    headers,
    ...(signal ? { signal } : {}),
  });
  return app.fetch(request);
}

async function firstText(response: Response) {
  const reader = response.body?.getReader();
  const first = await reader?.read();
  return { reader, text: new TextDecoder().decode(first?.value) };
}

test("HEAD of an event stream answers its headers and follows nothing", async () => {
  for (let round = 0; round <= places.stream.perUser; round += 1) {
    const response = await ask("/events", { method: "HEAD" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(response.body).toBeNull();
  }
  expect(followed).toBe(0);
});

test("A8 HEAD of a bundle or of a job is no complete answer", async () => {
  const { jobs } = schema;
  const own = eq(jobs.id, owner.jobId);
  const { db } = fixture.services;
  const [before] = await db.select().from(jobs).where(own);
  const ended = {
    status: "failed",
    retention: "ephemeral",
    endedAt: new Date(),
    errorCode: "internal",
  } as const;
  await db.update(jobs).set(ended).where(own);
  for (const path of ["", "/bundle"]) expect((await ask(path, { method: "HEAD" })).status).toBe(200);
  const [after] = await db.select({ answeredAt: jobs.answeredAt }).from(jobs).where(own);
  expect(after?.answeredAt).toBeNull();
  await db
    .update(jobs)
    .set(before ?? {})
    .where(own);
});

test("one user has at most 20 event streams open, and gets a place back when one closes", async () => {
  const streams = [];
  for (let at = 0; at < places.stream.perUser; at += 1) streams.push(await firstText(await ask("/events")));
  expect(streams[0]?.text).toContain("event: created");
  const refused = await ask("/events");
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ code: "rate_limited" });
  await streams.pop()?.reader?.cancel();
  const again = await firstText(await ask("/events"));
  expect(again.text).toContain("event: created");
  for (const { reader } of [...streams, again]) await reader?.cancel();
});

test("a client that leaves without reading gives its place back", async () => {
  for (let at = 0; at <= places.stream.perUser; at += 1) {
    const leaving = new AbortController();
    expect((await ask("/events", { signal: leaving.signal })).status).toBe(200);
    leaving.abort();
  }
});

test("a client that leaves before the stream starts gives its place back", async () => {
  for (let at = 0; at <= places.stream.perUser; at += 1) {
    const leaving = new AbortController();
    const asked = ask("/events", { signal: leaving.signal });
    leaving.abort();
    expect((await asked).status).toBe(200);
  }
});

test("live streams of the studio count against the same limit, and leave with their client", async () => {
  const leaving = new AbortController();
  const watch = () => {
    const headers = { authorization: `Bearer ${owner.apiKey}` };
    const request = new Request(`${testOrigin}/api/trpc/jobs.watch`, { headers, signal: leaving.signal });
    return handleTrpc(fixture.services, request);
  };
  const rest = await firstText(await ask("/events"));
  for (let at = 1; at < places.stream.perUser; at += 1) expect((await watch()).status).toBe(200);
  const refused = await (await watch()).text();
  expect(refused).toContain("event: serialized-error");
  expect(refused).toContain("Too many event streams are open.");
  expect(refused).toContain('"appCode":"rate_limited"');
  expect((await ask("/events")).status).toBe(429);
  leaving.abort();
  await rest.reader?.cancel();
  const again = await firstText(await ask("/events"));
  expect(again.text).toContain("event: created");
  await again.reader?.cancel();
});

test("S5 a bundle that is not read to its end holds a place of its reader", async () => {
  const { caller } = owner;
  const zips = [];
  for (let at = 0; at < places.stream.perUser; at += 1) zips.push(await ask("/bundle"));
  expect(zips.map(({ status }) => status)).toEqual(zips.map(() => 200));
  expect((await ask("/bundle")).status).toBe(429);
  await zips.pop()?.body?.cancel();
  await vi.waitFor(() => takePlace(fixture.services, "stream", caller)());
  const leaving = new AbortController();
  expect((await ask("/bundle", { signal: leaving.signal })).status).toBe(200);
  leaving.abort();
  await vi.waitFor(() => takePlace(fixture.services, "stream", caller)());
  for (const { body } of zips) await body?.cancel();
  await vi.waitFor(() => {
    const held: (() => void)[] = [];
    try {
      for (const _ of Array(places.stream.perUser)) held.push(takePlace(fixture.services, "stream", caller));
    } finally {
      for (const giveBack of held) giveBack();
    }
  });
});

test("all users of a process together have a limit of open streams", () => {
  const held = Array.from({ length: places.stream.all }, (_, at) =>
    takePlace(fixture.services, "stream", { userId: `user-${at}` }),
  );
  const one = () => takePlace(fixture.services, "stream", { userId: "one-more" });
  expect(one).toThrow("Too many event streams are open.");
  for (const giveBack of held) giveBack();
  one()();
});

test("a stream whose reader takes nothing ends after its time, and gives its place back", () => {
  vi.useFakeTimers();
  try {
    const { signal } = new AbortController();
    const onEnd = vi.fn<() => void>();
    for (let at = 0; at < places.stream.perUser; at += 1)
      holdStreamSlot(fixture.services, { caller: { userId: "still" }, signal }, onEnd);
    const { lengthMs, stalledMs } = streamTimesOf(fixture.services.env);
    vi.advanceTimersByTime(lengthMs);
    expect(onEnd).not.toHaveBeenCalled();
    vi.advanceTimersByTime(stalledMs - lengthMs);
    expect(onEnd).toHaveBeenCalledTimes(places.stream.perUser);
    takePlace(fixture.services, "stream", { userId: "still" })();
  } finally {
    vi.useRealTimers();
  }
});

test("a zip breaks off once its caller may not read any more, and gives its place back", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  try {
    const caller = { userId: "ended" };
    const place = () => takePlace(fixture.services, "stream", caller);
    const held = Array.from({ length: places.stream.perUser - 1 }, place);
    const { signal } = new AbortController();
    const isAllowed = vi.fn<() => Promise<boolean>>().mockResolvedValueOnce(true).mockResolvedValue(false);
    const endless = new Readable({
      read() {
        this.push("piece");
      },
    });
    const zip = await zipStream(fixture.services, { caller, signal, isAllowed }, () =>
      Promise.resolve(endless),
    );
    const reader = servedStream(fixture.services, zip, () => Promise.resolve()).getReader();
    const readAll = async () => {
      while (!(await reader.read()).done);
    };
    await vi.advanceTimersByTimeAsync(streamLimits.recheckMs);
    expect((await reader.read()).done).toBe(false);
    await vi.advanceTimersByTimeAsync(streamLimits.recheckMs);
    expect([isAllowed.mock.calls.length, zip.destroyed]).toEqual([2, true]);
    await expect(readAll()).rejects.toMatchObject({ code: "unauthorized" });
    for (const giveBack of [...held, place()]) giveBack();
  } finally {
    vi.useRealTimers();
  }
});

test("a zip whose reader stands still ends after its time, and one that is read slowly does not", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const caller = { userId: "slow" };
    const place = () => takePlace(fixture.services, "stream", caller);
    const held = Array.from({ length: places.stream.perUser - 1 }, place);
    const { signal } = new AbortController();
    const pieces = ["a", "b", "c", "d"].map((piece) => Buffer.from(piece));
    const zip = await zipStream(fixture.services, { caller, signal, isAllowed: async () => true }, () =>
      Promise.resolve(Readable.from(pieces, { objectMode: true, highWaterMark: 1 })),
    );
    const reader = servedStream(fixture.services, zip, () => Promise.resolve()).getReader();
    const { stalledMs } = streamTimesOf(fixture.services.env);
    for (const piece of pieces.slice(0, 2)) {
      vi.advanceTimersByTime(stalledMs - 1);
      expect(Buffer.from((await reader.read()).value ?? [])).toEqual(piece);
    }
    expect(place).toThrow("Too many event streams are open.");
    const closed = once(zip, "close");
    vi.advanceTimersByTime(stalledMs);
    expect(zip.destroyed).toBe(true);
    await closed;
    for (const giveBack of [...held, place()]) giveBack();
  } finally {
    vi.useRealTimers();
  }
});

test("what a job may name of files, samplers and schedulers is listed for a workflow, and for no other name", async () => {
  const { services } = fixture;
  const needs = ["comfyui/t2i_checkpoint"] as const;
  const nodeId = await addNode(services, { queue: "gpu-high", needs: [...needs] });
  const lists = {
    "CheckpointLoaderSimple.ckpt_name": ["b.safetensors", "a.safetensors"],
    "KSampler.sampler_name": ["euler", "ddim"],
  };
  await addServer(services, { nodeId, url: "http://a:1", needs: [...needs], lists });
  const headers = { authorization: `Bearer ${owner.apiKey}` };
  const choicesOf = async (name: string) => {
    const response = await app.fetch(
      new Request(`${testOrigin}/api/v1/workflows/${name}/choices`, { headers }),
    );
    return [response.status, await response.json()];
  };
  expect(await choicesOf("t2i_checkpoint")).toEqual([
    200,
    { checkpoint: ["a.safetensors", "b.safetensors"], loras: [], sampler: ["euler", "ddim"], scheduler: [] },
  ]);
  // No server runs it.
  expect(await choicesOf("t2i_sdxl")).toEqual([200, { loras: [], sampler: [], scheduler: [] }]);
  expect(await choicesOf("upscale_model")).toEqual([200, {}]);
  for (const name of ["none", "cloud", "T2I_SDXL", "a.b"])
    expect(await choicesOf(name)).toEqual([404, expect.objectContaining({ code: "not_found" })]);
});

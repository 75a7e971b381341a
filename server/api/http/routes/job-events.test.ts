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
import { schema } from "../../../db/index.ts";
import { createHttpApp } from "../../index.ts";
import { streamLimits } from "../../stream-limits.ts";

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
  for (let round = 0; round <= streamLimits.openPerUser; round += 1) {
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
  for (let at = 0; at < streamLimits.openPerUser; at += 1)
    streams.push(await firstText(await ask("/events")));
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
  for (let at = 0; at <= streamLimits.openPerUser; at += 1) {
    const leaving = new AbortController();
    expect((await ask("/events", { signal: leaving.signal })).status).toBe(200);
    leaving.abort();
  }
});

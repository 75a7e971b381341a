import { addNode } from "@atelier/testing/jobs";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ask } from "../assistant/index.ts";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { createClientsApp } from "./clients/app.ts";
import { createHttpApp, handleTrpc } from "./index.ts";

const painter = {
  id: "painter",
  title: "The painter",
  kind: "text_to_image",
  inputs: { required: [], optional: [] },
  params: ["prompt"],
  offers: [{ provider: "fal", endpoint: "e", input: { prompt: "$prompt" }, priceUsd: 0.04 }],
};
let fixture: TestServices;
let owner: TestOwner;
let key = "";
beforeAll(async () => {
  fixture = await createTestServices({ config: { cloud: { models: [painter] } } });
  owner = await openOwner(fixture.services, "owner@example.com", openAdmin);
  // A sign-up without an invitation may spend nothing.
  key = owner.apiKey;
  const needs = ["cloud/painter"] as const;
  await addNode(fixture.services, { queue: "cloud", slots: 99, needs, providers: ["fal"] });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.services.db.execute(sql`delete from jobs where kind = 'text_to_image'`));

interface Bounds {
  readonly ownOnly?: boolean;
  readonly agreed?: object;
}

const request = { kind: "text_to_image", params: { prompt: "a house" } };

function post(path: string, body: unknown): Request {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Request(`${testOrigin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

const rest = (path: string, body: unknown) =>
  Promise.resolve(createHttpApp(fixture.services).fetch(post(`/api/v1${path}`, body)));

function trpc(name: string, input: unknown): Promise<Response> {
  const headers = { ...Object.fromEntries(owner.browser.headers), "content-type": "application/json" };
  const body = superjson.stringify(input);
  return handleTrpc(
    fixture.services,
    new Request(`${testOrigin}/api/trpc/${name}`, { method: "POST", headers, body }),
  );
}

/** A failed job without any bounds. */
async function addFailed(): Promise<string> {
  const response = await rest("/jobs", request);
  const { id } = (await response.json()) as { id: string };
  await fixture.services.db.execute(sql`update jobs set status = 'failed' where id = ${id}`);
  return id;
}

async function addProposal(): Promise<string> {
  const { services } = fixture;
  const { userId: ownerId } = owner.caller;
  const { runId } = await ask(services, { ownerId, text: "Paint." });
  await services.db.execute(
    sql`update assistant_runs set status = 'completed', revision = revision + 1 where id = ${runId}`,
  );
  const id = newId();
  await services.db.insert(schema.proposals).values({
    id,
    runId,
    ownerId,
    toolCallId: id,
    request: { ...request, inputs: {} },
    requestSha256: id,
    title: "It",
  });
  return id;
}

/** Every way over the network in which a job is started and a person can say who may run it. */
const ways: Readonly<Record<string, (bounds: Bounds) => Promise<Response>>> = {
  "POST /api/v1/jobs": (bounds) => rest("/jobs", { ...request, ...bounds }),
  "POST /api/v1/jobs/{id}/retry": async (bounds) => rest(`/jobs/${await addFailed()}/retry`, bounds),
  "jobs.submit": (bounds) => trpc("jobs.submit", { ...request, inputs: {}, ...bounds }),
  "jobs.retry": async (bounds) => trpc("jobs.retry", { id: await addFailed(), ...bounds }),
  "assistant.approve": async (bounds) => trpc("assistant.approve", { id: await addProposal(), ...bounds }),
  "POST /api/generations/create": (bounds) =>
    Promise.resolve(
      createClientsApp(fixture.services).fetch(
        post("/api/generations/create", { modelId: "painter", input: { prompt: "a house" }, ...bounds }),
      ),
    ),
};

const newest = async () => {
  const jobs = await fixture.services.db
    .select()
    .from(schema.jobs)
    .where(eq(schema.jobs.kind, "text_to_image"))
    .orderBy(schema.jobs.id);
  return { job: jobs.at(-1), open: jobs.filter(({ status }) => status !== "failed").length };
};

/** The code of a failure, of tRPC or HTTP. */
async function codeOf(response: Response): Promise<unknown> {
  const body = await response.json();
  return body.code ?? body.error?.json?.data?.appCode ?? null;
}

describe.each(Object.entries(ways))("E8 %s", (_name, start) => {
  test("keeps the pictures at home, or refuses", async () => {
    const response = await start({ ownOnly: true });
    // No own machine makes pictures here; a request that names a model is refused for that.
    expect(["no_engine", "forbidden"]).toContain(await codeOf(response));
    expect((await newest()).open).toBe(0);
  });

  test("buys nothing dearer than was agreed, and nothing that leaves the house against it", async () => {
    for (const agreed of [{ maxPriceUsd: 0 }, { maxPriceUsd: 0.039 }, { maxPriceUsd: 1, ownOnly: true }]) {
      const response = await start({ agreed });
      expect(response.status).toBe(409);
      expect(await codeOf(response)).toBe("not_agreed");
    }
    expect((await newest()).open).toBe(0);
  });

  test("stores what was agreed with the job, and wants a whole agreement", async () => {
    const agreed = { maxPriceUsd: 0.04 };
    expect((await start({ agreed })).status).toBeLessThan(300);
    expect((await newest()).job?.agreed).toEqual({ ...agreed, ownOnly: false, unknownPrice: false });
    const response = await start({ agreed: { maxPriceUsd: -1 } });
    expect([response.status, await codeOf(response)]).toEqual([400, "bad_request"]);
  });

  test("starts as before without any bounds", async () => {
    expect((await start({})).status).toBeLessThan(300);
    expect((await newest()).job).toMatchObject({ agreed: null, ownOnly: false, model: "painter" });
  });
});

test("a retry without a body, or with an empty one, is a retry", async () => {
  for (const name of [null, "content-length", "content-type"]) {
    const path = `${testOrigin}/api/v1/jobs/${await addFailed()}/retry`;
    const headers = new Headers({ authorization: `Bearer ${key}` });
    if (name !== null) headers.set(name, name === "content-length" ? "0" : "application/json");
    const response = await createHttpApp(fixture.services).fetch(
      new Request(path, { method: "POST", headers }),
    );
    expect(response.status).toBe(202);
  }
});

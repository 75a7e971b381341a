import { addNode, addOwner, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Agreed, schema } from "../db/index.ts";
import { isAgreed, orderChain } from "../providers/index.ts";
import { estimate } from "./estimate.ts";
import { retry } from "./retry.ts";
import { submit } from "./submit.ts";

const offer = (provider: string, priceUsd: number | null) => ({
  provider,
  endpoint: "e",
  input: { prompt: "$prompt" },
  priceUsd,
});
const model = (id: string, kind: string, offers: readonly object[]) => ({
  id,
  title: `The ${id}`,
  kind,
  inputs: { required: kind === "text_to_image" ? [] : ["image"], optional: [] },
  params: ["prompt"],
  offers,
});
const models = [
  model("painter", "text_to_image", [offer("fal", 0.04), offer("replicate", 0.05)]),
  model("secret", "edit", [offer("fal", null)]),
  model("gift", "restore_faces", [offer("fal", 0)]),
];

let opened: TestServices;
let owner: TestOwner;
beforeAll(async () => {
  opened = await createTestServices({ config: { cloud: { models } } });
});
afterAll(() => opened.close());
beforeEach(async () => {
  await opened.services.db.delete(schema.jobs);
  await opened.services.db.delete(schema.nodes);
  owner = await addOwner(opened.services);
});

const paint = { kind: "text_to_image", params: { prompt: "a house" } } as const;
const agreed = (maxPriceUsd: number, change: Partial<Agreed> = {}) => ({
  maxPriceUsd,
  ownOnly: false,
  unknownPrice: false,
  ...change,
});
const send = (request: object, key?: string) =>
  submit(opened.services, request, {
    submitter: owner,
    ...(key === undefined ? {} : { idempotencyKey: key }),
  });
const addCloud = () =>
  addNode(opened.services, {
    queue: "cloud",
    providers: ["fal", "replicate"],
    slots: 9,
    needs: models.map(({ id }) => `cloud/${id}` as const),
  });
const jobCount = () => opened.services.db.$count(schema.jobs);

test("E8 an estimate says place and price, and what a submit sends back to get that and nothing dearer", async () => {
  const { services } = opened;
  await addNode(services);
  await addCloud();
  const inputs = { image: owner.imageId };
  expect(await estimate(services, { kind: "upscale", inputs }, owner)).toMatchObject({
    cloud: null,
    priceUsd: 0,
    agreed: agreed(0, { ownOnly: true }),
  });
  expect(await estimate(services, paint, owner)).toMatchObject({
    cloud: { model: "painter", provider: "fal", priceUsd: 0.04, maxPriceUsd: 0.05 },
    priceUsd: 0.04,
    agreed: agreed(0.05),
  });
  const edit = { kind: "edit", inputs, params: { prompt: "blue" } };
  expect(await estimate(services, edit, owner)).toMatchObject({
    cloud: { priceUsd: null, maxPriceUsd: null },
    priceUsd: null,
    agreed: null,
  });
});

test("E8 what costs more than was agreed, or leaves the house against it, is refused with its price and place", async () => {
  await addCloud();
  const inputs = { image: owner.imageId };
  const edit = { kind: "edit", inputs, params: { prompt: "blue" } };
  const faces = { kind: "restore_faces", inputs };
  const own = agreed(1, { ownOnly: true });
  const refused: [object, Agreed, RegExp][] = [
    [paint, agreed(0), /The painter at fal for \$0\.040 now, but it was agreed that it costs nothing/],
    [paint, agreed(0.039_9), /costs at most \$0\.040\. Nothing was started\. Agree to the new price/],
    [paint, own, /stays on the studio's own machines/],
    [faces, own, /for \$0\.00 now, but it was agreed that it stays/],
    [edit, agreed(5), /at a price that is not known.*Name the most that you would pay/],
    [{ ...paint, model: "painter" }, agreed(0.01), /costs at most \$0\.010/],
  ];
  for (const [request, bounds, message] of refused) {
    const answer = send({ ...request, agreed: bounds });
    await expect(answer).rejects.toMatchObject({
      code: "not_agreed",
      message: expect.stringMatching(message),
    });
    await expect(answer).rejects.toMatchObject({ details: { agreed: bounds, cloud: { provider: "fal" } } });
  }
  // Without a price somebody has to name one.
  await expect(send(edit)).rejects.toMatchObject({ code: "not_agreed", details: { wouldAgree: null } });
  expect(await jobCount()).toBe(0);
  const accepted: [object, Agreed | undefined][] = [
    [paint, agreed(0.04)],
    [paint, agreed(0.04, { unknownPrice: true })],
    [faces, agreed(0)],
    [edit, agreed(0.2, { unknownPrice: true })],
    [paint, undefined],
  ];
  for (const [request, bounds] of accepted) {
    const { id } = await send({ ...request, agreed: bounds });
    expect(await readJob(opened.services, id)).toMatchObject({ engine: "cloud", agreed: bounds ?? null });
  }
});

test("E8 the refusal says what to agree to; under the same key the new bounds make the job, and a third request none", async () => {
  await addCloud();
  const refusal = await send({ ...paint, agreed: agreed(0) }, "one").catch((error: unknown) => error);
  expect(refusal).toMatchObject({ details: { wouldAgree: agreed(0.05) } });
  const first = await send({ ...paint, agreed: agreed(0.05) }, "one");
  // The answer was lost, and the price has changed since.
  const again = await send({ ...paint, agreed: agreed(0) }, "one");
  expect(again.id).toBe(first.id);
  expect(await jobCount()).toBe(1);
  const other = send({ ...paint, params: { prompt: "another" }, agreed: agreed(0.05) }, "one");
  await expect(other).rejects.toMatchObject({ code: "idempotency_mismatch" });
});

test("E8 bounds that mean nothing are refused as a bad request", async () => {
  for (const bounds of [
    { maxPriceUsd: -1 },
    { maxPriceUsd: Number.NaN },
    { maxPriceUsd: Number.POSITIVE_INFINITY },
    { maxPriceUsd: "0.04" },
    { maxPriceUsd: null },
    { ownOnly: true },
    { maxPriceUsd: 1, free: true },
    { maxPriceUsd: 0, unknownPrice: true },
    {},
    "free",
    null,
  ])
    await expect(send({ ...paint, agreed: bounds })).rejects.toMatchObject({ code: "bad_request" });
});

test("E8 a retry keeps the bounds and the place of its job, and other bounds may be named for it", async () => {
  const { services } = opened;
  await addCloud();
  const fail = (id: string) => services.db.execute(sql`update jobs set status = 'failed' where id = ${id}`);
  const { id } = await send({ ...paint, agreed: agreed(0.04) });
  await fail(id);
  await orderChain(services.db, "painter", ["replicate", "fal"]);
  const free = { maxPriceUsd: 0 };
  const refused = retry(services, { submitter: owner, id, agreed: free });
  await expect(refused).rejects.toMatchObject({ code: "not_agreed" });
  const again = await retry(services, { submitter: owner, id, agreed: agreed(0.05) });
  expect(await readJob(services, again.id)).toMatchObject({ agreed: agreed(0.05), retryOf: id });
  await fail(again.id);
  await orderChain(services.db, "painter", ["fal", "replicate"]);
  await expect(retry(services, { submitter: owner, id, ownOnly: true })).rejects.toMatchObject({
    code: "no_engine",
  });
});

test("the database and the studio decide alike what is within an agreement", async () => {
  const prices = [null, 0, 0.039_999_9, 0.04, 0.040_000_5, 0.040_001_5, 0.040_01, 5];
  const bounds = [0, 0.04, 5].flatMap((max) =>
    [true, false].flatMap((ownOnly) =>
      [true, false].map((unknownPrice) => agreed(max, { ownOnly, unknownPrice })),
    ),
  );
  for (const one of [null, ...bounds])
    for (const price of prices) {
      const json = one && JSON.stringify(one);
      const [row] = await opened.services.db.execute<{ ok: boolean }>(
        sql`select is_agreed(${json}::jsonb, ${price}::float8) as ok`,
      );
      expect([one, price, row?.ok]).toEqual([one, price, isAgreed(one, price)]);
    }
});

test("E8 S9 a key without the right to spend buys nothing: what is free runs, a price that it agrees to is refused", async () => {
  const { services } = opened;
  await addCloud();
  const submitter = { ...owner, rights: new Set(["create"] as const) };
  const ask = (request: object) => submit(services, request, { submitter });
  await expect(ask(paint)).rejects.toMatchObject({ code: "not_agreed" });
  await expect(ask({ ...paint, agreed: agreed(0.05) })).rejects.toMatchObject({
    code: "forbidden",
    details: { right: "spend" },
  });
  await expect(ask({ ...paint, agreed: agreed(1, { unknownPrice: true }) })).rejects.toMatchObject({
    code: "forbidden",
  });
  expect(await jobCount()).toBe(0);
  const { id } = await ask({ kind: "restore_faces", inputs: { image: owner.imageId } });
  expect((await readJob(services, id)).agreed).toEqual(agreed(0));
  const spender = { ...owner, rights: new Set(["create", "spend"] as const) };
  expect(await submit(services, { ...paint, agreed: agreed(0.05) }, { submitter: spender })).toBeDefined();
});

import { addNode, addOwner, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { isAppError, newId } from "../platform/index.ts";
import { stateConsent, withdrawConsent } from "../wardrobe/index.ts";
import { ask } from "./ask.ts";
import { approve, decline, readProposals } from "./proposals.ts";

const painter = {
  id: "painter",
  title: "The painter",
  kind: "text_to_image",
  inputs: { required: [], optional: [] },
  params: ["prompt"],
  offers: [{ provider: "fal", endpoint: "e", input: { prompt: "$prompt" }, priceUsd: 0.04 }],
};
let opened: TestServices;
let owner: TestOwner;
beforeAll(async () => {
  opened = await createTestServices({ config: { cloud: { models: [painter] } } });
  await addNode(opened.services);
  await addNode(opened.services, { queue: "cloud", slots: 9, needs: ["cloud/painter"] });
});
afterAll(() => opened.close());
beforeEach(async () => {
  owner = await addOwner(opened.services);
});

const upscale = () => ({ kind: "upscale", params: {}, inputs: { image: owner.imageId } });
const paint = { kind: "text_to_image", params: { prompt: "a house" }, inputs: {} };

async function addProposal(request: Record<string, unknown> = upscale()): Promise<string> {
  const { services } = opened;
  const [id, ownerId] = [newId(), owner.userId];
  const { runId } = await ask(services, { ownerId, text: "Make it." });
  await services.db.execute(
    sql`update assistant_runs set status = 'completed', revision = revision + 1 where id = ${runId}`,
  );
  await services.db
    .insert(schema.proposals)
    .values({ id, runId, ownerId, toolCallId: id, request, requestSha256: id, title: "It" });
  return id;
}

const say = (id: string, change: Partial<Parameters<typeof approve>[1]> = {}) =>
  approve(opened.services, { id, hasConsent: false, submitter: owner, ...change });
const refuse = (id: string) => decline(opened.services, { id, ownerId: owner.userId });
const stateOf = async (id: string) => {
  const [row] = await opened.services.db.select().from(schema.proposals).where(eq(schema.proposals.id, id));
  return (await readProposals(opened.services, [row?.runId ?? ""])).find((proposal) => proposal.id === id);
};
const jobsOf = () =>
  opened.services.db.select().from(schema.jobs).where(eq(schema.jobs.ownerId, owner.userId));

/** `ok`, or the code of the failure. */
async function outcomeOf(act: Promise<unknown>): Promise<string> {
  return act.then(
    () => "ok",
    (error: unknown) => (isAppError(error) ? error.code : "unknown"),
  );
}

test.each(["the refusal first", "the approval first", "twelve of each"] as const)(
  "S6 of an approval and a refusal at once exactly one wins, and what is declined never runs: %s",
  async (order) => {
    for (let round = 0; round < 12; round += 1) {
      const id = await addProposal();
      const pairs = order === "twelve of each" ? 12 : 1;
      const acts = Array.from({ length: pairs }, () => [
        () => outcomeOf(say(id)).then((outcome) => ({ by: "approve", outcome })),
        () => outcomeOf(refuse(id)).then((outcome) => ({ by: "decline", outcome })),
      ]).flat();
      const answers = await Promise.all(
        (order === "the refusal first" ? acts.toReversed() : acts).map((act) => act()),
      );
      const of = (name: string) =>
        new Set(answers.flatMap(({ by, outcome }) => (by === name ? [outcome] : [])));
      const proposal = await stateOf(id);
      const jobs = await jobsOf();
      const isApproved = proposal?.state === "approved";
      expect(of("approve")).toEqual(new Set([isApproved ? "ok" : "conflict"]));
      expect(of("decline")).toEqual(new Set([isApproved ? "conflict" : "ok"]));
      expect({ state: proposal?.state, jobs: jobs.map((job) => job.id) }).toEqual(
        isApproved ? { state: "approved", jobs: [proposal.jobId] } : { state: "declined", jobs: [] },
      );
      await opened.services.db.execute(sql`delete from jobs where owner_id = ${owner.userId}`);
    }
  },
);

test("S6 a refused submit leaves the proposal open, to be approved or declined later", async () => {
  const id = await addProposal(paint);
  const free = { maxPriceUsd: 0 };
  expect(await outcomeOf(say(id, { agreed: free }))).toBe("not_agreed");
  expect(await stateOf(id)).toMatchObject({ state: "open", jobId: null });
  const [first, second] = await Promise.all([
    say(id, { agreed: { maxPriceUsd: 0.04 } }),
    say(id, { agreed: { maxPriceUsd: 0.05 } }),
  ]);
  expect(second.id).toBe(first.id);
  // A later click with another choice beside it is the same proposal.
  expect((await say(id, { ownOnly: true, agreed: free })).id).toBe(first.id);
  expect(await jobsOf()).toHaveLength(1);
  expect(await outcomeOf(refuse(id))).toBe("conflict");
});

test("S6 a proposal that was approved is not started again once the key of its job is gone, nor after the job", async () => {
  const { services } = opened;
  const id = await addProposal(paint);
  const agreed = { maxPriceUsd: 0.04 };
  const { id: jobId } = await say(id, { agreed });
  await services.db.delete(schema.idempotencyKeys).where(eq(schema.idempotencyKeys.ownerId, owner.userId));
  expect(await say(id, { agreed })).toMatchObject({ id: jobId });
  expect(await jobsOf()).toHaveLength(1);
  await services.db.delete(schema.jobs).where(eq(schema.jobs.id, jobId));
  expect(await outcomeOf(say(id, { agreed }))).toBe("conflict");
  expect(await jobsOf()).toEqual([]);
});

test("E8 an approval keeps the job on own machines when the card says so", async () => {
  const id = await addProposal();
  const { id: jobId } = await say(id, { ownOnly: true });
  expect(await readJob(opened.services, jobId)).toMatchObject({ ownOnly: true });
  const away = await addProposal(paint);
  expect(await outcomeOf(say(away, { ownOnly: true }))).toBe("no_engine");
  expect(await stateOf(away)).toMatchObject({ state: "open", jobId: null });
});

test("S6 a proposal whose job was stored by an older version, and not noted, is approved by the next click", async () => {
  const { services } = opened;
  const id = await addProposal();
  const { id: jobId } = await say(id);
  await services.db.execute(sql`update proposals set state = 'open', job_id = null where id = ${id}`);
  expect((await say(id)).id).toBe(jobId);
  expect(await stateOf(id)).toMatchObject({ state: "approved", jobId });
  // It could not be placed any more, and its input is gone: the job is there all the same.
  await services.db.execute(sql`update proposals set state = 'open', job_id = null where id = ${id}`);
  await services.db.execute(sql`update images set deleted_at = now() where id = ${owner.imageId}`);
  expect((await say(id)).id).toBe(jobId);
  expect(await stateOf(id)).toMatchObject({ state: "approved", jobId });
});

test("S3 S6 a proposal of an outfit asks for the consent only while the photo has no statement", async () => {
  const { services } = opened;
  const inputs = { person: owner.imageId, garment: owner.imageId };
  const id = await addProposal({ kind: "outfit_change", params: {}, inputs });
  expect(await stateOf(id)).toMatchObject({ needsConsent: true });
  expect(await outcomeOf(say(id))).toBe("consent_required");
  const photo = { ownerId: owner.userId, imageId: owner.imageId };
  await stateConsent(services, photo);
  expect(await stateOf(id)).toMatchObject({ needsConsent: false });
  await withdrawConsent(services, photo);
  expect(await stateOf(id)).toMatchObject({ needsConsent: true });
  const { id: jobId } = await say(id, { hasConsent: true });
  expect(await stateOf(id)).toMatchObject({ state: "approved", needsConsent: false, jobId });
  // A second click needs no tick, since the consent is stored, or was when the job began.
  expect((await say(id)).id).toBe(jobId);
  await withdrawConsent(services, photo);
  expect((await say(id)).id).toBe(jobId);
  expect((await say(id, { hasConsent: true })).id).toBe(jobId);
});

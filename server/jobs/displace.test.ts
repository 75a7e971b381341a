import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addJob, addOwner, insertJob, readJob, readStory, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { schema, type Tier } from "../db/index.ts";
import { submit } from "./submit.ts";

const maxWaiting = 3;

describe.each(["postgres", "redis"] as const)("D10 a full line on %s", (backend) => {
  let opened: TestServices;
  let owner: TestOwner;
  let admin: TestOwner & { isAdmin: true };

  beforeAll(async () => {
    opened = await createTestServices({ backend, config: { limits: { maxWaiting } } });
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    await opened.services.db.delete(schema.jobs);
    owner = await addOwner(opened.services);
    admin = { ...(await addOwner(opened.services)), isAdmin: true };
    // It fills the window, so that what follows stays in the line.
    await addJob(opened.services, { owner });
  });

  const fill = async (...tiers: Tier[]) => {
    const ids: string[] = [];
    for (const tier of tiers) ids.push(await insertJob(opened.services, { owner, tier }));
    return ids;
  };
  const submitAs = (tier: Tier) =>
    submit(
      opened.services,
      { kind: "upscale", tier, inputs: { image: admin.imageId } },
      { submitter: admin },
    );

  test("an urgent job takes the place of the oldest low one, whose owner is told why", async () => {
    const [first = "", second = "", normal = ""] = await fill("low", "low", "normal");
    const { id } = await submitAs("urgent");
    expect((await readJob(opened.services, id)).tier).toBe(3);
    expect(await readJob(opened.services, first)).toMatchObject({ status: "failed", errorCode: "displaced" });
    expect((await readStory(opened.services, first)).at(-1)?.type).toBe("displaced");
    expect((await readJob(opened.services, second)).errorCode).toBeNull();
    expect((await readJob(opened.services, normal)).errorCode).toBeNull();
  });

  test("an urgent job is accepted even where there is no low one", async () => {
    const ids = await fill("normal", "normal", "high");
    expect(await submitAs("urgent")).toMatchObject({ status: "pending" });
    for (const id of ids) expect((await readJob(opened.services, id)).errorCode).toBeNull();
  });

  test("urgent jobs at the same moment displace one each", async () => {
    await fill("low", "low", "low");
    await Promise.all([submitAs("urgent"), submitAs("urgent"), submitAs("urgent")]);
    const { jobs } = schema;
    expect(await opened.services.db.$count(jobs, eq(jobs.errorCode, "displaced"))).toBe(3);
  });

  test("any other job is refused with a clear error, and stores nothing", async () => {
    await fill("low", "low", "low");
    await expect(submitAs("high")).rejects.toMatchObject({ code: "queue_full" });
    expect(await opened.services.db.$count(schema.jobs)).toBe(1 + maxWaiting);
  });

  test("only an admin may ask for a tier above normal", async () => {
    const request = { kind: "upscale", tier: "urgent", inputs: { image: owner.imageId } };
    await expect(submit(opened.services, request, { submitter: owner })).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});

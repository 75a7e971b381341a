import { addNode, addOwner, insertJob, readJob } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { sweep } from "./sweep.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("D3 what nothing of the last 24 hours could run fails with the reason; what may come back waits", async () => {
  const { services } = opened;
  const { db } = services;
  const { jobs, nodes } = schema;
  const owner = await addOwner(services);
  const waitsFor = async (engine: "comfyui" | "local", need: `${"comfyui" | "local"}/${string}`) => {
    const id = await insertJob(services, { owner });
    await db.update(jobs).set({ engine, need }).where(eq(jobs.id, id));
    return id;
  };
  const past = await waitsFor("comfyui", "comfyui/t2i_sdxl");
  const back = await waitsFor("comfyui", "comfyui/t2i_sd15");
  const local = await waitsFor("local", "local/restore_faces");
  const hoursAgo = (hours: number) => sql`now() - make_interval(hours => ${hours})`;
  const lost = await addNode(services, { state: "lost", needs: ["comfyui/t2i_sdxl"] });
  await db
    .update(nodes)
    .set({ seenAt: hoursAgo(25) })
    .where(eq(nodes.id, lost));
  const away = await addNode(services, { state: "lost", needs: ["comfyui/t2i_sd15"] });
  await db
    .update(nodes)
    .set({ seenAt: hoursAgo(23) })
    .where(eq(nodes.id, away));
  const live = await addNode(services);

  await sweep(services);
  expect((await readJob(services, past)).status).not.toBe("failed");

  await db
    .update(nodes)
    .set({ startedAt: hoursAgo(2) })
    .where(eq(nodes.id, live));
  await sweep(services);
  expect(await readJob(services, past)).toMatchObject({ status: "failed", errorCode: "no_engine" });
  expect((await readJob(services, back)).errorCode).toBeNull();
  expect((await readJob(services, local)).errorCode).toBeNull();
});

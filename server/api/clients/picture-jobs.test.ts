import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveCaller } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { testOrigin } from "@atelier/testing/services";
import { type ClientScene, openClientScene } from "./fixtures/scene.ts";
import { collectPicture } from "./picture-jobs.ts";

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
});
afterAll(() => scene.close());

test("D2 the time of a waiting client counts from the start of its request", async () => {
  const { services, session } = scene;
  const response = await scene.send("/jobsRedis", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ userId: "u", prompt: "a boat" }),
  });
  const { jobId } = (await response.json()) as { jobId: string };
  const caller = await resolveCaller(services, session);
  if (!caller) throw new Error("the owner has no session");
  const request = new Request(testOrigin);
  const startedAtMs = performance.now() - 279_500;
  const collected = collectPicture({ services, caller, request, startedAtMs }, jobId, "png");
  await expect(collected).rejects.toMatchObject({ code: "engine_timeout" });
  expect(await services.db.$count(schema.jobs, eq(schema.jobs.id, jobId))).toBe(0);
});

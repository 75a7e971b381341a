import { serveAnswers } from "@atelier/testing/http";
import { createTestServices } from "@atelier/testing/services";
import { expect, test } from "vitest";
import { speakIn, wordsIn } from "../words.ts";
import { checkUp, readCheckup } from "./index.ts";

const canary = "canary-0123456789-secret";

test("the page's check is made once at a time, is kept without secrets, and counts workers too", async () => {
  const [opened, page] = await Promise.all([
    createTestServices(),
    serveAnswers(() => ({ status: 401, body: `{"detail":"no account of ${canary}"}` })),
  ]);
  const { db, config, env } = opened.services;
  const source = { ...env, REPLICATE_API_KEY: [canary], REPLICATE_BASE_URL: page.url };
  const services = { db, config, env: source };
  expect(await readCheckup(services)).toEqual({ last: null, ageMs: null, isRunning: false });
  const [one, other] = [checkUp(services), checkUp(services)];
  expect(await readCheckup(services)).toMatchObject({ isRunning: true });
  expect(await one).toBe(await other);
  const { last, isRunning } = await readCheckup(services);
  const german = await speakIn(await wordsIn("de"), () => readCheckup(services));
  expect(german.last?.findings).toContainEqual({
    name: "Worker",
    state: "fail",
    message: "keiner ist verbunden, daher entsteht nichts; starten Sie einen",
  });
  expect([last, isRunning]).toEqual([await one, false]);
  expect(page.requests).toHaveLength(1);
  expect(last?.findings).toContainEqual({
    name: "Replicate",
    state: "fail",
    message: expect.stringMatching(/refuses the key.*“no account of/),
  });
  expect(last?.findings).toContainEqual(expect.objectContaining({ name: "Workers", state: "fail" }));
  expect(last?.findings).toContainEqual(expect.objectContaining({ name: "LISTEN", state: "ok" }));
  expect(JSON.stringify(last)).not.toContain(canary);
  await Promise.all([opened.close(), page.close()]);
});

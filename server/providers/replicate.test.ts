import { expect, test } from "vitest";
import { clientOf } from "./clients.ts";
import { failureOf, json, startScripted } from "@atelier/testing/providers";

const webhookUrl = "https://studio.example.org/api/webhooks/replicate/one";
const submittedAt = new Date("2026-11-01T12:00:00Z");
const other = { id: "p2", webhook: "https://elsewhere.example.org/", created_at: "2026-11-01T12:00:05Z" };
const wanted = { ...other, id: "p1", webhook: webhookUrl };

async function open(onFinished: (end: () => Promise<void>) => void) {
  const replicate = await startScripted("replicate", "/v1");
  onFinished(() => replicate.close());
  const find = () =>
    clientOf("replicate").find?.(
      replicate.access,
      { webhookUrl, submittedAt },
      AbortSignal.timeout(30_000),
    ) ?? Promise.reject(new Error("Replicate lists its runs"));
  const next = (page: number) => `${replicate.access.baseUrl}/predictions?page=${page}`;
  return { replicate, find, next };
}

test("F3 R1 a lost call is found on a later page of the list, or is not in it", async ({
  onTestFinished,
}) => {
  const { replicate, find, next } = await open(onTestFinished);
  replicate.answer = ({ path }) =>
    path.endsWith("page=2")
      ? json({ results: [wanted], next: null })
      : json({ results: [other], next: next(2) });
  expect(await find()).toMatchObject({ externalId: "p1" });
  replicate.answer = json({ results: [other], next: null });
  expect(await find()).toBeNull();
  const older = { ...other, created_at: "2026-11-01T11:00:00Z" };
  replicate.answer = json({ results: [older], next: next(2) });
  expect(await find()).toBeNull();
});

test("R1 F20 what is no whole list says nothing about a lost call, which is not made again for it", async ({
  onTestFinished,
}) => {
  const { replicate, find, next } = await open(onTestFinished);
  replicate.answer = { type: "text/html", body: "<html>Welcome</html>" };
  expect(await failureOf(find())).toEqual(["internal", null]);
  replicate.answer = json({ detail: "later" }, 503);
  expect(await failureOf(find())).toEqual(["transient", null]);
  replicate.answer = json({ results: [other], next: "https://elsewhere.example.org/v1/predictions" });
  expect(await failureOf(find())).toEqual(["internal", null]);
  let page = 1;
  replicate.answer = () => json({ results: [other], next: next((page += 1)) });
  expect(await failureOf(find())).toEqual(["internal", null]);
});

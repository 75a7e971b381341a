import { describe, expect, test, vi } from "vitest";
import type { SubmitInput } from "@atelier/server/jobs";
import { firstQuestion, refuseQuestions } from "./agreement.ts";
import { ownOnly } from "../cloud.ts";
import { NotWanted } from "../../ui/failures.ts";
import { createSubmission } from "./submission.ts";
import {
  agreedTo,
  agreedToChoice,
  type Estimate,
  isSameChoice,
  submitAgreed,
  textWithoutPrompts,
} from "./job.ts";

describe("text without words", () => {
  test("D8 an estimate is asked for without the words", () => {
    const text = textWithoutPrompts({
      kind: "text_to_image",
      inputs: {},
      params: { prompt: "a secret", negativePrompt: "", steps: 20 },
    });
    expect(JSON.parse(text)).toEqual({
      kind: "text_to_image",
      inputs: {},
      params: { prompt: "…", negativePrompt: "", steps: 20 },
    });
  });
});

test.each([
  ["of another setting", { model: "a", params: { steps: 4 } }, { model: "a", params: { steps: 5 } }, true],
  ["with a setting more", { workflow: "a" }, { workflow: "a", params: { model: 1 } }, true],
  ["of another model", { model: "a" }, { model: "b" }, false],
  ["of a workflow of that name", { model: "a" }, { workflow: "a" }, false],
  ["that names none", { model: "a" }, {}, false],
  ["that may leave", { engine: "iopaint", ownOnly: true }, { engine: "iopaint" }, false],
  ["of a batch of more", { jobs: [{ model: "a" }] }, { jobs: [{ model: "a" }, { model: "a" }] }, false],
])("E8 the answer to a request %s tells of a place and price that a click may agree to: %#", (...row) => {
  const [, shown, asked, isSame] = row;
  expect(isSameChoice(JSON.stringify(shown), JSON.stringify(asked))).toBe(isSame);
});

test("E8 a click agrees to what was shown: to nothing where no price was", () => {
  const agreed = { maxPriceUsd: 0.05, ownOnly: false, unknownPrice: false };
  const shown = (change: object) => ({ isPossible: true, agreed, ...change }) as unknown as Estimate;
  expect(agreedTo(shown({}))).toEqual(agreed);
  expect(agreedTo(shown({ agreed: null }))).toBeNull();
  expect(agreedTo(shown({ isPossible: false }))).toBeNull();
  expect(agreedTo(undefined)).toBeNull();
  const choice = (priceUsd: number | null) => ({ cloud: { model: "m", provider: "fal", priceUsd } });
  expect(agreedToChoice(choice(0.04))).toEqual({ maxPriceUsd: 0.04 });
  expect(agreedToChoice(choice(null))).toBeNull();
  expect(agreedToChoice({ cloud: null })).toBeNull();
  expect(agreedToChoice(null)).toBeNull();
});

/** A server that makes a picture for $0.05 at a provider, or refuses. */
function openServer() {
  const sent: (SubmitInput & { readonly key: string })[] = [];
  const submission = createSubmission("job", async (input: SubmitInput, key) => {
    sent.push({ ...input, key });
    if ((input.agreed?.maxPriceUsd ?? 0) >= 0.05) return { id: `job of ${key}`, status: "queued" as const };
    const cloud = { title: "The painter", provider: "fal", priceUsd: 0.05, maxPriceUsd: 0.05 };
    throw Object.assign(new Error("dearer"), { code: "not_agreed", details: { cloud } });
  });
  return { sent, submission };
}

const house: SubmitInput = { kind: "text_to_image", inputs: {}, params: { prompt: "a house" } };
const asked = () => vi.waitFor(() => firstQuestion() ?? Promise.reject(new Error("nothing is asked")));

describe("E8 the one path of what may cost money", () => {
  test("a new price is asked about once more, and the answer is sent under the same key", async () => {
    const { sent, submission } = openServer();
    const started = submitAgreed(submission, [house], { maxPriceUsd: 0.04 });
    const question = await asked();
    expect(question).toMatchObject({ cloud: { provider: "fal", priceUsd: 0.05 }, count: 1 });
    question.answer({ maxPriceUsd: 0.05 });
    expect(await started).toHaveLength(1);
    expect(firstQuestion()).toBeNull();
    expect(sent.map(({ agreed }) => agreed?.maxPriceUsd)).toEqual([0.04, 0.05]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  });

  test("who does not agree gets nothing, and the same may be sent again", async () => {
    const { sent, submission } = openServer();
    const started = submitAgreed(submission, [house, house], { maxPriceUsd: 0 });
    const question = await asked();
    expect(question.count).toBe(2);
    question.answer(null);
    await expect(started).rejects.toBeInstanceOf(NotWanted);
    expect(sent.every(({ agreed }) => agreed?.maxPriceUsd === 0)).toBe(true);
    expect(await submitAgreed(submission, [house, house], { maxPriceUsd: 0.05 })).toHaveLength(2);
  });

  test("questions of two requests at once come one after the other", async () => {
    const first = submitAgreed(openServer().submission, [house], { maxPriceUsd: 0 });
    const second = submitAgreed(openServer().submission, [house, house], { maxPriceUsd: 0 });
    for (let left = 2; left > 0; left -= 1) (await asked()).answer({ maxPriceUsd: 0.05 });
    expect([(await first).length, (await second).length]).toEqual([1, 2]);
  });

  test("a question that cannot be shown ends all of them, also those that wait for it", async () => {
    const requests = [1, 2, 3].map(() => submitAgreed(openServer().submission, [house], { maxPriceUsd: 0 }));
    const ended = Promise.allSettled(requests);
    await asked();
    // All three were refused in the same turn.
    await new Promise((resolve) => setTimeout(resolve));
    refuseQuestions();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(firstQuestion()).toBeNull();
  });

  test("the switch for own machines goes with every request of every page", async () => {
    const { sent, submission } = openServer();
    ownOnly.set(true);
    await submitAgreed(submission, [house, { ...house, params: { prompt: "x" } }], { maxPriceUsd: 1 });
    ownOnly.set(false);
    await submitAgreed(submission, [house], { maxPriceUsd: 1 });
    expect(sent.map((request) => request.ownOnly ?? false)).toEqual([true, true, false]);
  });
});

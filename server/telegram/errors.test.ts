import { GrammyError } from "grammy";
import { expect, test } from "vitest";
import { toTelegramError } from "./errors.ts";

const refusal = (error_code: number, description: string, parameters?: { retry_after: number }) =>
  toTelegramError(
    new GrammyError(
      description,
      { ok: false, error_code, description, ...(parameters ? { parameters } : {}) },
      "sendMediaGroup",
      {},
    ),
    "sendMediaGroup",
  );

test.each([
  [429, "Too Many Requests: retry after 7", 7_000],
  [
    400,
    'Bad Request: failed to send message #1 with the error message "Too Many Requests: retry after 8"',
    8_000,
  ],
  [400, "Bad Request: FLOOD_WAIT_35", 35_000],
  [420, "FLOOD_WAIT_2228", 2_228_000],
  [400, "Bad Request: too many requests", 5_000],
])("C2 %i %j is a refusal for now, for as long as it says", (status, text, retryAfterMs) => {
  expect(refusal(status, text)).toMatchObject({ kind: "rate", status, retryAfterMs });
});

test("C2 the figure beside the text counts, and other refusals wait for nothing", () => {
  expect(refusal(429, "Too Many Requests: retry after 7", { retry_after: 9 })).toMatchObject({
    retryAfterMs: 9_000,
  });
  expect(
    refusal(400, 'failed to send message #2 with the error message "PHOTO_INVALID_DIMENSIONS"'),
  ).toMatchObject({ kind: "size", retryAfterMs: null });
});

test.each([
  "Bad Request: group send failed",
  "Bad Request: PHOTO_EXT_INVALID",
  "Bad Request: MEDIA_INVALID",
  'Bad Request: failed to send message #1 with the error message "MEDIA_EMPTY"',
])("C2 %s means that another form of the picture may be taken", (text) => {
  expect(refusal(400, text)).toMatchObject({ kind: "size" });
});

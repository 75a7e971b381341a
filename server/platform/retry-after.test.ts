import { expect, test } from "vitest";
import { retryAfterInText, retryAfterOf } from "./retry-after.ts";

const nowMs = Date.parse("2026-11-29T04:00:00Z");
const inAMinute = "Sun, 29 Nov 2026 04:01:00 GMT";

test.each<[string, Record<string, string>, number | null]>([
  ["seconds", { "retry-after": " 120 " }, 120_000],
  ["part of a second", { "retry-after": "0.493" }, 493],
  ["seconds with a unit", { "retry-after": "60s" }, 60_000],
  ["milliseconds, which are exact", { "retry-after-ms": "1500", "retry-after": "2" }, 1_500],
  ["an empty value beside seconds", { "retry-after-ms": "", "retry-after": "2" }, 2_000],
  ["a date", { "retry-after": inAMinute }, 60_000],
  ["a date of an older form", { "retry-after": "Sunday, 29-Nov-26 04:01:00 GMT" }, 60_000],
  ["a date of the oldest form, without a zone", { "retry-after": "Sun Nov 29 04:01:00 2026" }, 60_000],
  ["a date as programs write it", { "retry-after": "2026-11-29T04:01:00Z" }, 60_000],
  ["a date that has passed", { "retry-after": "Sun, 29 Nov 2026 03:00:00 GMT" }, 0],
  [
    "a date by a clock that is an hour fast",
    { date: "Sun, 29 Nov 2026 05:00:00 GMT", "retry-after": "Sun, 29 Nov 2026 05:00:30 GMT" },
    30_000,
  ],
  [
    "a date by a clock that is a day slow",
    { date: "Sat, 28 Nov 2026 04:00:00 GMT", "retry-after": "Sat, 28 Nov 2026 04:02:00 GMT" },
    120_000,
  ],
  ["two that a proxy joined", { "retry-after": "30, 45" }, 45_000],
  ["the newer header", { ratelimit: '"requests";r=0;t=60' }, 60_000],
  ["the older of these", { "ratelimit-reset": "7" }, 7_000],
  ["a number without an end", { "retry-after": "9".repeat(5_000) }, null],
  ["less than nothing", { "retry-after": "-5" }, null],
  ["words", { "retry-after": "later" }, null],
  ["nothing", {}, null],
])("E4 a wait may be asked as %s", (_name, headers, waitMs) => {
  expect(retryAfterOf(headers, nowMs)).toBe(waitMs);
});

test.each([
  ["No deployments available for selected model, Try again in 60 seconds. Passed model=x", 60_000],
  ["Rate limit reached. Please try again in 6m0s. Visit the page.", 360_000],
  ["Please try again in 850ms.", 850],
  ["Please retry in 34.07s.", 34_070],
  ["Please retry after 26 seconds.", 26_000],
  ["6 requests per minute with a burst of 1. Your rate limit resets in ~10s.", 10_000],
  ["Expected available in 1 second.", 1_000],
  ["Wait 1 minute and 30 seconds, please.", 90_000],
  ['{"detail":"throttled","retry_after":9}', 9_000],
  ['{"error":{"retryAfter":"2.5"}}', 2_500],
  ["Try again in a few minutes.", null],
  ["You may make 5 requests a minute.", null],
])("E4 a wait is read from words: %s", (text, waitMs) => {
  expect(retryAfterInText(text)).toBe(waitMs);
});

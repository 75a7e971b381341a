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
  ["a span", { "retry-after": "1m30.5s" }, 90_500],
  ["a short span", { "retry-after": "120ms" }, 120],
  ["a span without an end", { "retry-after": "9s".repeat(5_000) }, 45_000_000],
  ["milliseconds with a fraction", { "retry-after-ms": "1500.5" }, 1_501],
  ["a number without an end", { "retry-after": "9".repeat(5_000) }, null],
  ["less than nothing", { "retry-after": "-5" }, null],
  ["words", { "retry-after": "later" }, null],
  ["nothing", {}, null],
])("E4 a wait may be asked as %s", (_name, headers, waitMs) => {
  expect(retryAfterOf({ status: 503, headers }, nowMs)).toBe(waitMs);
});

const in90Seconds = nowMs / 1_000 + 90;

test.each<[string, Record<string, string>, number | null]>([
  ["the newer header", { ratelimit: '"requests";r=0;t=60' }, 60_000],
  ["its members in another order", { ratelimit: '"requests"; t=60; r=0' }, 60_000],
  ["the spent one of several", { ratelimit: '"burst";r=50;t=1, "daily";r=0;t=40000' }, 40_000_000],
  ["the longest of those that are spent", { ratelimit: '"a";r=0;t=40, "b";r=0;t=7' }, 40_000],
  ["the older headers", { "ratelimit-remaining": "0", "ratelimit-reset": "7" }, 7_000],
  ["the combined header of a draft", { ratelimit: "limit=100, remaining=0, reset=50" }, 50_000],
  ["it in another order", { ratelimit: "reset=50,remaining=0,limit=100;w=60" }, 50_000],
  [
    "several of it that a proxy joined",
    { ratelimit: "limit=9, remaining=3, reset=900, limit=100, remaining=0, reset=20" },
    20_000,
  ],
  ["requests that are left, as in the draft", { ratelimit: "limit=100, remaining=5, reset=50" }, null],
  ["less than one, as in the draft", { ratelimit: "limit=100, remaining=0.5, reset=50" }, null],
  ["a moment", { "ratelimit-remaining": "0", "ratelimit-reset": `${in90Seconds}` }, 90_000],
  [
    "those of OpenAI",
    { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" },
    360_000,
  ],
  [
    "the spent one of OpenAI's",
    {
      "x-ratelimit-remaining-requests": "9",
      "x-ratelimit-reset-requests": "2h",
      "x-ratelimit-remaining-images": "0",
      "x-ratelimit-reset-images": "12.5s",
    },
    12_500,
  ],
  ["those of gateways", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${in90Seconds}000` }, 90_000],
  ["those of gateways without a reset", { "x-ratelimit-remaining": "0" }, null],
  [
    "a moment in milliseconds",
    { "ratelimit-remaining": "0", "ratelimit-reset": `${in90Seconds}000` },
    90_000,
  ],
  ["a moment that has passed", { "ratelimit-remaining": "0", "ratelimit-reset": "1700000000" }, null],
  ["no wait at all", { "ratelimit-remaining": "0", "ratelimit-reset": "0" }, null],
  ["requests that are left", { ratelimit: '"100-in-15min";r=99;t=900' }, null],
  ["less than one, but more than nothing", { ratelimit: '"a";r=0.5;t=900' }, null],
  ["requests that are left, as older", { "ratelimit-remaining": "99", "ratelimit-reset": "900" }, null],
  ["a reset alone", { "ratelimit-reset": "7" }, null],
])("E4 a rate limit asks for a wait where nothing is left: %s", (_name, headers, waitMs) => {
  expect(retryAfterOf({ status: 429, headers }, nowMs)).toBe(waitMs);
  expect(retryAfterOf({ status: 500, headers }, nowMs)).toBeNull();
});

test("E4 an explicit wait goes before that of a rate limit", () => {
  const headers = { "retry-after": "3", ratelimit: '"a";r=0;t=60' };
  expect(retryAfterOf({ status: 429, headers }, nowMs)).toBe(3_000);
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

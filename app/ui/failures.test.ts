import { describe, expect, test } from "vitest";
import { failureOf, failureOfAnswer, hasOwnAdvice } from "./failures.ts";
import { SignedOut } from "../client/session.ts";

describe("failure", () => {
  test("a failure keeps its code, whether the server told it or the client wrapped it; the rest counts as offline", () => {
    const told = { message: "Wait.", data: { appCode: "rate_limited" } };
    const wrapped = new Error("You are signed out.", { cause: new SignedOut() });
    const codes = [told, wrapped, new TypeError("Failed to fetch"), null].map(
      (error) => failureOf(error).code,
    );
    expect(codes).toEqual(["rate_limited", "unauthorized", "offline", "offline"]);
  });
});

test.each([
  [413, null, "request_too_large"],
  [429, null, "rate_limited"],
  [507, {}, "storage_full"],
  [502, null, "offline"],
  [200, null, "offline"],
  [413, { code: "upload_too_large", detail: "The file is larger than 25 MB." }, "upload_too_large"],
])("an answer %i with %o is told as %s", (status, told, code) => {
  expect(failureOfAnswer(status, told).code).toBe(code);
});

describe("failures", () => {
  const message = "The garment is cut off by the edge of its photo. Use a photo that shows all of it.";

  test("a refused picture is advised on in the engine's own words", () => {
    expect(hasOwnAdvice({ code: "garment_unsuitable", message })).toBe(true);
    expect(hasOwnAdvice({ code: "person_unsuitable", message })).toBe(true);
  });

  test("other failures, and those without words, are advised on by their code", () => {
    expect(hasOwnAdvice({ code: "engine_crashed", message: "exit code 137" })).toBe(false);
    expect(hasOwnAdvice({ code: "person_unsuitable", message: "" })).toBe(false);
  });

  test("what the server says in the words of the page is the advice, whatever its code", () => {
    const data = { appCode: "bad_request", isTold: true };
    expect(hasOwnAdvice(failureOf({ message: "You can have 500 tags.", data }))).toBe(true);
    expect(
      hasOwnAdvice(failureOf({ message: "You can have 500 tags.", data: { appCode: "bad_request" } })),
    ).toBe(false);
  });
});

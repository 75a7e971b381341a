import { expect, test } from "vitest";
import { failureOf } from "../client/failures.ts";
import { SignedOut } from "./settle-session.ts";

test("a failure keeps its code, whether the server told it or the client wrapped it; the rest counts as offline", () => {
  const told = { message: "Wait.", data: { appCode: "rate_limited" } };
  const wrapped = new Error("You are signed out.", { cause: new SignedOut() });
  const codes = [told, wrapped, new TypeError("Failed to fetch"), null].map((error) => failureOf(error).code);
  expect(codes).toEqual(["rate_limited", "unauthorized", "offline", "offline"]);
});

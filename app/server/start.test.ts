import { expect, test } from "vitest";
import { z } from "zod";
import { ConfigurationError, readWebEnv, startFailureLine, startFailureResponse } from "./start.ts";

test("the web process needs a database and a secret, and names what is missing", () => {
  const DATABASE_URL = "postgres://localhost/atelier";
  expect(() => readWebEnv({ DATABASE_URL })).toThrow(/AUTH_SECRET is not set/);
  expect(() => readWebEnv({ AUTH_SECRET: "s".repeat(32) })).toThrow(/DATABASE_URL is not set/);
  expect(readWebEnv({ DATABASE_URL, AUTH_SECRET: "s".repeat(32) })).toMatchObject({ DATABASE_URL });
});

test("a wrong configuration is answered with what is wrong", async () => {
  const missing = new ConfigurationError([{ name: "AUTH_SECRET", message: "is not set" }]);
  const invalid = z.object({ limits: z.object({ open: z.number() }) }).safeParse({ limits: {} }).error;
  const bodies = await Promise.all([missing, invalid].map((error) => startFailureResponse(error).json()));
  expect(bodies).toMatchObject([
    { status: 503, code: "misconfigured", errors: [{ path: "AUTH_SECRET", message: "is not set" }] },
    { status: 503, code: "misconfigured", errors: [{ path: "limits.open" }] },
  ]);
});

test("another failure is not called a wrong configuration, and its cause stands in the log alone", async () => {
  const cause = Object.assign(new Error("EACCES: permission denied"), { input: "postgres://me:secret@host" });
  const error = new Error("The log could not be opened.", { cause });
  const answer = startFailureResponse(error);
  const text = await answer.text();
  expect(answer.status).toBe(503);
  expect(JSON.parse(text)).toMatchObject({ code: "start_failed", errors: [] });
  expect(text).not.toMatch(/configuration|EACCES/);
  const line = startFailureLine(error, new Date(0));
  expect(JSON.parse(line)).toMatchObject({
    level: 50,
    time: 0,
    process: "web",
    err: { message: "The log could not be opened.", cause: { message: "EACCES: permission denied" } },
  });
  expect(line).not.toContain("secret");
});

import { expect, test, vi } from "vitest";
import { z } from "zod";
import { bucketOrigin } from "./proxy-env.ts";
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

test.each([
  [{}, null],
  [{ S3_BUCKET: "p" }, "https://s3.us-east-1.amazonaws.com"],
  [{ S3_BUCKET: "p", S3_REGION: "cn-north-1" }, "https://s3.cn-north-1.amazonaws.com.cn"],
  [{ S3_BUCKET: "p", S3_ENDPOINT: "http://nas:9000/s3", S3_FORCE_PATH_STYLE: "true" }, "http://nas:9000"],
  [{ S3_BUCKET: "p", S3_ENDPOINT: "https://s3.lan", S3_FORCE_PATH_STYLE: "False" }, "https://p.s3.lan"],
  [
    { S3_BUCKET: "p", S3_ENDPOINT: "https://s3.lan", S3_PUBLIC_ENDPOINT: "https://x.lan:8" },
    "https://x.lan:8",
  ],
])("S3 with %o pages may connect to %s", (env, origin) => {
  for (const name of ["S3_BUCKET", "S3_REGION", "S3_ENDPOINT", "S3_PUBLIC_ENDPOINT", "S3_FORCE_PATH_STYLE"])
    vi.stubEnv(name, Object.entries(env).find(([each]) => each === name)?.[1] ?? "");
  expect(bucketOrigin()).toBe(origin);
  vi.unstubAllEnvs();
});

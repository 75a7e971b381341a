import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { startS3, type TestS3 } from "@atelier/testing/s3";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkStore } from "../images/index.ts";
import { retellFinding, wordsIn } from "../words.ts";
import { checkBucket, checkBucketLinks, checkStoreMark } from "./storage.ts";

let s3: TestS3;
let opened: TestServices;
let elsewhere: string;

beforeAll(async () => {
  [s3, opened, elsewhere] = await Promise.all([
    startS3(),
    createTestServices(),
    mkdtemp(path.join(os.tmpdir(), "atelier-elsewhere-")),
  ]);
});
afterAll(async () => {
  await opened.close();
  await s3.destroy();
  await rm(elsewhere, { recursive: true, force: true });
});

test("A16 a bucket that works is found, and what is wrong with another one is said", async () => {
  const env = { ...opened.services.env, ...s3.env };
  expect(await checkBucket(env)).toMatchObject({ isOk: true });
  const wrongKey = await checkBucket({ ...env, S3_SECRET_ACCESS_KEY: "wrong" });
  expect(wrongKey).toMatchObject({ isOk: false, message: expect.stringContaining("cannot be used") });
  expect(await checkBucket({ ...env, S3_BUCKET: "missing" })).toMatchObject({
    isOk: false,
    message: expect.stringMatching(/NoSuchBucket: .*create the bucket/),
  });
});

test.each([
  [
    "its address names it, too",
    (env: TestS3["env"]) => ({ S3_ENDPOINT: `${env.S3_ENDPOINT}/${env.S3_BUCKET}` }),
  ],
])(
  "R5 a bucket that takes objects and lists none is told, since nothing would be removed: %s",
  async (_, wrong) => {
    const { services } = opened;
    const found = await checkBucket({ ...services.env, ...s3.env, ...wrong(s3.env) });
    expect(found).toMatchObject({
      isOk: true,
      isWarning: true,
      message: expect.stringContaining("S3_ENDPOINT names the bucket"),
    });
    expect(retellFinding(found.message, await wordsIn("de"))).toContain("weil S3_ENDPOINT");
  },
);

test("signed links are tried as browsers use them, with the rule of CORS for the studio's own origin", async () => {
  const env = { ...opened.services.env, ...s3.env, APP_URL: "https://atelier.example.org" };
  await s3.allowOrigin("https://other.example.org");
  const before = await checkBucketLinks(env, []);
  await s3.allowOrigin(env.APP_URL);
  const after = await checkBucketLinks(env, []);
  const nowhere = await checkBucketLinks({ ...env, S3_PUBLIC_ENDPOINT: "http://127.0.0.1:1" }, []);
  expect([before, after, nowhere].map((all) => all.map(({ isOk }) => isOk))).toEqual([
    [true, false],
    [true, true],
    [false],
  ]);
});

test("A16 the store of the studio passes; another one is refused, before the first mark and after it", async () => {
  const { env } = opened.services;
  const databaseUrl = env.DATABASE_URL ?? "";
  const check = (dataDir: string) => checkStoreMark({ ...env, ATELIER_DATA_DIR: dataDir }, databaseUrl);
  expect(await check(env.ATELIER_DATA_DIR)).toMatchObject({ isOk: true });
  const other = await createTestServices();
  try {
    await checkStore(other.services);
    expect(await check(other.services.env.ATELIER_DATA_DIR)).toMatchObject({ isOk: false });
  } finally {
    await other.close();
  }
  await checkStore(opened.services);
  expect(await check(env.ATELIER_DATA_DIR)).toMatchObject({ isOk: true });
  expect(await check(elsewhere)).toMatchObject({
    isOk: false,
    message: expect.stringContaining("ATELIER_DATA_DIR"),
  });
});

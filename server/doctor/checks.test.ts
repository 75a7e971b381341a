import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startRedis } from "@atelier/testing/redis";
import {
  checkConfigFile,
  checkDataDir,
  checkFolder,
  checkProxies,
  checkSecret,
  checkSigningKey,
} from "./checks.ts";
import { checkRedis, judgeRedis } from "./redis.ts";
import { inspectEnv } from "../platform/index.ts";
import { makeSigningPair, readSigner } from "../provenance/certificate.ts";
import { trySigner } from "../provenance/index.ts";

describe("check redis", () => {
  test("a running Redis of today passes with its version", async () => {
    const redis = await startRedis();
    expect(await checkRedis(redis.url)).toMatchObject({
      isOk: true,
      message: expect.stringMatching(/^Redis \d+\./),
    });
    await redis.destroy();
  });

  test.each([
    ["5.0.14", false],
    ["6.0.20", false],
    ["6.2.0", true],
    ["7.0.1", true],
    ["10.0.0", true],
    ["", false],
  ])("Redis %s: new enough is %s", (version, isOk) => {
    expect(judgeRedis({ version }).isOk).toBe(isOk);
  });
});

test.each([
  [{ mode: "cluster" }, false, "is a Redis Cluster, which is not supported"],
  [{ mode: "sentinel" }, false, "name the primary"],
  [{ mode: "standalone", role: "slave" }, false, "a replica"],
  [{ mode: "standalone", role: "master", keeps: "" }, true, "standalone, keeps nothing"],
  [
    { mode: "standalone", role: "master", keeps: "its data by snapshots" },
    true,
    "keeps its data by snapshots",
  ],
])("Redis as %j: it may be used is %s", (facts, isOk, words) => {
  expect(judgeRedis({ version: "8.2.1", ...facts })).toMatchObject({
    isOk,
    message: expect.stringContaining(words),
  });
});

describe("F15 check redis", () => {
  test("one that drops keys when it is full passes with a warning that says what to set", () => {
    expect(judgeRedis({ version: "8.2.1", policy: "allkeys-lru" })).toMatchObject({
      isOk: true,
      isWarning: true,
      message: expect.stringContaining("maxmemory-policy noeviction"),
    });
    expect(judgeRedis({ version: "8.2.1", policy: "noeviction" }).isWarning).toBeUndefined();
  });

  test("one that is full takes no writes, and that is what the check says", async () => {
    const redis = await startRedis();
    await redis.send("CONFIG SET maxmemory 1");
    expect(await checkRedis(redis.url)).toMatchObject({
      isOk: false,
      message: expect.stringMatching(/takes no writes .*maxmemory/),
    });
    await redis.destroy();
  });
});

test("a SOCKS proxy beside the other two is left aside, and refused where it would be the one that is used", () => {
  const http = "http://127.0.0.1:7890";
  const ALL_PROXY = "socks5://127.0.0.1:7890";
  const wrong = (source: Record<string, string>) =>
    checkProxies(inspectEnv(source).env)
      .filter(({ isOk }) => !isOk)
      .map(({ name }) => name);
  expect(wrong({ HTTPS_PROXY: http, HTTP_PROXY: http, ALL_PROXY })).toEqual([]);
  expect(wrong({ https_proxy: http, http_proxy: http, all_proxy: ALL_PROXY })).toEqual([]);
  expect(wrong({ HTTPS_PROXY: http, ALL_PROXY })).toEqual(["ALL_PROXY"]);
  expect(wrong({ ALL_PROXY })).toEqual(["ALL_PROXY"]);
  expect(wrong({ HTTPS_PROXY: ALL_PROXY, HTTP_PROXY: http, ALL_PROXY })).toEqual(["HTTPS_PROXY"]);
});

test("a folder below which no pages can be made is named before the start", () => {
  expect(checkFolder("/home/ada/Projects #1/atelier")).toMatchObject({
    isOk: false,
    message: expect.stringContaining("/home/ada/Projects #1/atelier"),
  });
  expect(checkFolder("/home/Ünal's 50% [x] ?/atelier").isOk).toBe(true);
});

/** A file in the place of a folder takes no files, as one of another user or of a disk that is not there. */
const checkWith = async (folders: readonly string[], names: Readonly<Record<string, string>> = {}) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-data-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  // Of the file system, as a volume has it.
  await mkdir(path.join(folder, "lost+found"));
  for (const name of folders) await writeFile(path.join(folder, name), "");
  const { env } = inspectEnv({ ATELIER_DATA_DIR: folder, ...names });
  return checkDataDir(env);
};

test("A3 a folder of the data folder that takes no files is named", async () => {
  expect(await checkWith([])).toMatchObject([{ isOk: true }]);
  for (const name of ["files", "secrets", "tmp"])
    expect(await checkWith([name])).toMatchObject([
      { isOk: false, message: expect.stringMatching(`${name} cannot be written to`) },
    ]);
  expect(await checkWith(["cache", "tmp"])).toMatchObject([
    { isOk: true, isWarning: true, message: expect.stringMatching("cache cannot") },
    { isOk: false, message: expect.stringMatching("tmp cannot") },
  ]);
});

test("A3 a folder on a disk that is not there is named, and nothing is left in one that is", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-data-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(path.join(folder, "disk"), path.join(folder, "files"));
  const { env } = inspectEnv({ ATELIER_DATA_DIR: folder });
  expect(await checkDataDir(env)).toMatchObject([
    { isOk: false, message: expect.stringContaining(`${path.join(folder, "files")} cannot be written to`) },
  ]);
  await mkdir(path.join(folder, "disk"));
  expect(await checkDataDir(env)).toMatchObject([{ isOk: true }]);
  expect(await readdir(path.join(folder, "disk"))).toEqual([]);
});

test("A3 a start does without the folders that it does not need", async () => {
  for (const name of ["cache", "logs"])
    expect(await checkWith([name])).toMatchObject([
      { isOk: true, isWarning: true, message: expect.stringMatching(`${name} cannot be written to`) },
    ]);
  expect(await checkWith(["files"], { S3_BUCKET: "pictures" })).toMatchObject([{ isOk: true }]);
  const own = {
    DATABASE_URL: "postgres://db/atelier",
    AUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
  };
  expect(await checkWith(["secrets"], own)).toMatchObject([{ isOk: true, isWarning: true }]);
  expect(await checkWith(["secrets"], { DATABASE_URL: own.DATABASE_URL })).toMatchObject([{ isOk: false }]);
});

test("A3 a folder of secrets that takes no more is enough while all that are needed are in it", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-data-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const secrets = path.join(folder, "secrets");
  await mkdir(secrets);
  // In the way of the file that is tried, also for a user who may write anywhere.
  await mkdir(path.join(secrets, `.write-check-${process.pid}`));
  const { env } = inspectEnv({ ATELIER_DATA_DIR: folder });
  for (const name of ["auth-secret", "postgres-password"]) await writeFile(path.join(secrets, name), "s");
  expect(await checkDataDir(env)).toMatchObject([{ isOk: false }]);
  await writeFile(path.join(secrets, "postgres-app-password"), "s");
  expect(await checkDataDir(env)).toMatchObject([{ isOk: true, isWarning: true }]);
  await rm(path.join(secrets, "auth-secret"));
  expect(await checkDataDir(env)).toMatchObject([{ isOk: false }]);
});

test("an AUTH_SECRET that kept the quotes of an env file is pointed at, and one without them is not", () => {
  const secret = "a-secret-for-tests-that-is-long-enough";
  for (const quote of ['"', "'"])
    expect(checkSecret({ AUTH_SECRET: `${quote}${secret}${quote}` })).toMatchObject([
      { name: "AUTH_SECRET", isOk: true, isWarning: true, message: expect.stringContaining("quotes") },
    ]);
  for (const AUTH_SECRET of [secret, `"${secret}`, `${secret}'`, undefined])
    expect(checkSecret({ AUTH_SECRET })).toEqual([]);
});

describe("check signing key", () => {
  const withDatabase = { DATABASE_URL: "postgres://localhost/atelier" };
  const secret = { AUTH_SECRET: "a-secret-for-tests-that-is-long-enough" };

  test("the studio's own passes, and a process that cannot read it is warned", async () => {
    expect(await checkSigningKey(inspectEnv({ ...withDatabase, ...secret }).env)).toMatchObject({
      isOk: true,
    });
    expect(await checkSigningKey(inspectEnv(withDatabase).env)).toMatchObject({
      isWarning: true,
      message: expect.stringContaining("AUTH_SECRET"),
    });
  });

  test("the operator's passes with the end of its certificate, and one that cannot sign is named", async () => {
    const { key, certificates } = await makeSigningPair();
    const given = { ...withDatabase, SIGNING_KEY: key, SIGNING_CERTIFICATES: certificates };
    const passing = await checkSigningKey(inspectEnv(given).env);
    expect(passing).toMatchObject({
      isOk: true,
      message: expect.stringMatching(/is verified; .*valid until 20\d\d-/),
    });
    expect(passing.isWarning).toBeUndefined();
    const other = { ...given, SIGNING_KEY: (await makeSigningPair()).key };
    expect(await checkSigningKey(inspectEnv(other).env)).toMatchObject({
      isWarning: true,
      message: expect.stringContaining("another key"),
    });
  });
});

test("a signer is tried by what it signs: bytes that are no signature do not pass", async () => {
  const signer = await readSigner(await makeSigningPair());
  expect(await trySigner(signer)).toBe(true);
  const broken = { ...signer, sign: async (bytes: Uint8Array) => (await signer.sign(bytes)).fill(7) };
  expect(await trySigner(broken)).toBe(false);
});

test("S8 a start on demand that a purchase comes before is a warning, where a key could buy", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-checks-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const look = async (
    overflowAfterS: number,
    source: Readonly<Record<string, string>> = { FAL_API_KEY: "k" },
  ) => {
    const file = path.join(folder, `${overflowAfterS}.mjs`);
    const queues = { "gpu-high": { minVramGib: 8, onDemand: { startS: 180 } }, "cpu-light": {} };
    await writeFile(file, `export default ${JSON.stringify({ queues, cloud: { overflowAfterS } })};`);
    return checkConfigFile({ ...inspectEnv(source).env, ATELIER_CONFIG: file });
  };
  expect(await look(180)).toMatchObject([
    { isOk: true },
    { isOk: true, isWarning: true, message: expect.stringContaining("gpu-high") },
  ]);
  expect(await look(181)).toMatchObject([{ isOk: true }]);
  expect(await look(60, {})).toMatchObject([{ isOk: true }]);
});

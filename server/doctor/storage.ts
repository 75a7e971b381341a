import type { Client } from "pg";
import { type Env, explain, newId } from "../platform/index.ts";
import type { SignedPut } from "../storage/index.ts";
import { type CheckResult, failed, passed, reasonOf, untried, warned } from "./checks.ts";
import { undefinedTable, withClient } from "./database.ts";
import { ask, type SeenClock, wordsOf } from "./other-side.ts";
import { saidNo } from "./outside.ts";

const listAdvice =
  "deleted pictures would stay there, because S3_ENDPOINT names the bucket as well, or the key lacks the right to list";

/** Whether the bucket takes, returns, lists and removes an object. */
export async function checkBucket(env: Env): Promise<CheckResult> {
  const name = "S3_BUCKET";
  const where = [env.S3_BUCKET, env.S3_ENDPOINT ?? `Amazon, ${env.S3_REGION}`].join(", ");
  const { openDisk, probeDisk, probeList, reasonOfStore } = await import("../storage/index.ts");
  const disk = await openDisk(env);
  try {
    await probeDisk(disk);
    const isListed = await probeList(disk).catch((error: unknown) => reasonOfStore(error));
    if (isListed === true) return passed(name, where);
    // No failure: a studio that runs so keeps its pictures where they are, and must not stop at an upgrade.
    return warned(
      name,
      `${where} does not list what it holds (${isListed || "the list lacks it"}); ${listAdvice}`,
    );
  } catch (error) {
    return failed(
      name,
      `${where} cannot be used (${reasonOfStore(error)}); correct the S3_ names, or start the server`,
    );
  } finally {
    disk.close();
  }
}

/** Whether a browser may send to the bucket and read from it by signed addresses, as pages of the studio do. */
export async function checkBucketLinks(env: Env, clocks: SeenClock[]): Promise<CheckResult[]> {
  if (env.S3_BUCKET === undefined) return [];
  const { openDisk } = await import("../storage/index.ts");
  const disk = await openDisk({ ...env, S3_DOWNLOADS: "link" });
  const key = `health/${newId()}`;
  try {
    const put = await disk.driver.signPut(key, { mime: "text/plain", sizeBytes: 2, sha256: null });
    const get = await disk.driver.signGet(key, { mime: "text/plain", disposition: "inline" });
    if (!put || !get) return [];
    const links = await checkLinks(put, get, clocks);
    return [links, ...(links.isOk ? [await checkCors(env, put)] : [])];
  } finally {
    await disk.delete(key).catch(() => undefined);
    disk.close();
  }
}

const linkAdvice = "correct S3_PUBLIC_ENDPOINT, which is where browsers reach the bucket";

async function checkLinks(put: SignedPut, get: string, clocks: SeenClock[]): Promise<CheckResult> {
  const name = "Links to the bucket";
  const { host } = new URL(put.url);
  try {
    const sent = await ask(put.url, { method: "PUT", headers: put.headers, body: "ok" }, clocks);
    if (sent.status >= 300)
      return saidNo(name, sent, `a signed upload to ${host} does not work; ${linkAdvice}`);
    const read = await ask(get, {}, clocks);
    if (read.text !== "ok")
      return saidNo(name, read, `a signed download from ${host} does not work; ${linkAdvice}`);
    return passed(name, `signed uploads and downloads work at ${host}`);
  } catch (error) {
    return {
      ...failed(name, `${host} cannot be reached by a signed link; ${linkAdvice}`),
      noAnswer: explain(error),
    };
  }
}

/** Asks as a browser does before it sends. */
async function checkCors({ APP_URL: origin }: Env, { url, headers }: SignedPut): Promise<CheckResult> {
  const name = "Uploads by browsers";
  if (origin === undefined) return untried(name, "APP_URL is not set: it is not known where pages come from");
  const answer = await ask(url, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "PUT",
      "access-control-request-headers": [...Object.keys(headers), "x-amz-checksum-sha256"].join(","),
    },
  });
  const allowed = answer.headers.get("access-control-allow-origin");
  const methods = answer.headers.get("access-control-allow-methods") ?? "";
  if (answer.status < 300 && (allowed === "*" || allowed === origin) && /PUT|\*/i.test(methods))
    return passed(name, `the bucket takes files of pages from ${origin}`);
  const advice = "add the rule of CORS of docs/storage.md, section Uploads go to the bucket";
  return {
    ...failed(name, `the bucket lets no page of ${origin} send files (HTTP ${answer.status}); ${advice}`),
    said: wordsOf(answer),
  };
}

async function readStoredMark(client: Client): Promise<string | null> {
  try {
    const answer = await client.query<{ store_mark: string | null }>("SELECT store_mark FROM studio");
    return answer.rows[0]?.store_mark ?? null;
  } catch (error) {
    // A database that is not migrated yet has no mark.
    if (error instanceof Error && "code" in error && error.code === undefinedTable) return null;
    throw error;
  }
}

/** Whether the image store of this environment is the one that the other processes of the database use. */
export async function checkStoreMark(env: Env, databaseUrl: string): Promise<CheckResult> {
  const name = "Image store";
  const { openDisk } = await import("../storage/index.ts");
  const { otherStoreReason, readMark } = await import("../images/index.ts");
  const disk = await openDisk(env);
  try {
    const wanted = await withClient(databaseUrl, readStoredMark, env);
    const found = await readMark(disk);
    if (wanted === null && found === null) return passed(name, "is marked by the first process that starts");
    return found === wanted ? passed(name, "is the studio's") : failed(name, otherStoreReason);
  } catch (error) {
    return failed(name, `cannot be compared with the studio's (${reasonOf(error)})`);
  } finally {
    disk.close();
  }
}

import type { Client } from "pg";
import type { Env } from "../platform/index.ts";
import { type CheckResult, failed, passed, reasonOf } from "./checks.ts";
import { withClient } from "./database.ts";

/** Whether the bucket takes, returns and removes an object. */
export async function checkBucket(env: Env): Promise<CheckResult> {
  const name = "S3_BUCKET";
  const where = `${env.S3_BUCKET} at ${env.S3_ENDPOINT ?? `Amazon, ${env.S3_REGION}`}`;
  const { openDisk, probeDisk } = await import("../storage/index.ts");
  const disk = await openDisk(env);
  try {
    await probeDisk(disk);
    return passed(name, where);
  } catch (error) {
    const reason = reasonOf(error instanceof Error && error.cause ? error.cause : error);
    return failed(name, `${where} cannot be used (${reason}); correct the S3_ names, or start the server`);
  } finally {
    disk.close();
  }
}

/** State of PostgreSQL for a table that does not exist. */
const undefinedTable = "42P01";

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

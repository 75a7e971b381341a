import type { Client } from "pg";
import { sessionLimits } from "../db/index.ts";
import { type CheckResult, failed, passed, reasonOf, withoutPassword } from "./check-result.ts";

const databaseConnectMs = 5_000;
const notifyMs = 3_000;
/** `server_version_num` of the oldest version that the queries are written for. */
const oldestVersion = 160_000;

async function withClient<T>(url: string, action: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import("pg");
  // Connects as the product does, so that a pooler that refuses these parameters shows here.
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: databaseConnectMs,
    ...sessionLimits,
  });
  client.on("error", () => undefined); // A drop shows as the failure of the query that waits.
  try {
    await client.connect();
    return await action(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function readVersion(client: Client): Promise<{ number: number; text: string }> {
  const answer = await client.query(
    "SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text",
  );
  return answer.rows[0];
}

/** A pooler refuses parameters of the start that it does not know with this state, as PostgreSQL itself never does here. */
const refusedParameter = "08P01";

function adviceFor(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === refusedParameter)
    return `a pooler must let these through: ignore_startup_parameters = ${Object.keys(sessionLimits).join(",")}`;
  return "start the server, correct the address, or remove it to use the embedded database";
}

/** Whether the database answers and is new enough. */
export async function checkDatabase(name: string, url: string): Promise<CheckResult> {
  try {
    const version = await withClient(url, readVersion);
    if (version.number >= oldestVersion) return passed(name, `PostgreSQL ${version.text}`);
    return failed(name, `is PostgreSQL ${version.text}; Atelier needs version 16 or newer`);
  } catch (error) {
    return failed(
      name,
      `${withoutPassword(url)} cannot be reached (${reasonOf(error)}); ${adviceFor(error)}`,
    );
  }
}

function hearOnce(client: Client, channel: string): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), notifyMs);
    client.on("notification", (note) => {
      if (note.channel !== channel) return;
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Whether a notification sent over one connection is heard on another; poolers in transaction mode lose it. */
export async function checkListen(url: string): Promise<CheckResult> {
  const channel = `atelier_doctor_${process.pid}`;
  try {
    const isHeard = await withClient(url, async (listener) => {
      await listener.query(`LISTEN ${channel}`);
      const heard = hearOnce(listener, channel);
      await withClient(url, (sender) => sender.query("SELECT pg_notify($1, '')", [channel]));
      return heard;
    });
    if (isHeard) return passed("LISTEN", "notifications arrive");
  } catch (error) {
    return failed("LISTEN", `could not be tried: ${reasonOf(error)}`);
  }
  return failed(
    "LISTEN",
    "notifications do not arrive (a pooler?); set DATABASE_DIRECT_URL to the server itself, else live updates come once a second",
  );
}

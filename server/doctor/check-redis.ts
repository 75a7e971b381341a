import { failed, passed, reasonOf, withoutPassword, type CheckResult } from "./check-result.ts";

const connectMs = 3_000;

/** Whether Redis answers within 3 s. */
export async function checkRedis(url: string): Promise<CheckResult> {
  const { Redis } = await import("ioredis");
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectMs,
    commandTimeout: connectMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let cause: unknown;
  client.on("error", (error) => (cause = error));
  try {
    await client.connect();
    const info = await client.info("server");
    return passed("REDIS_URL", `Redis ${/redis_version:(\S+)/.exec(info)?.[1] ?? ""}`);
  } catch (error) {
    const reason = reasonOf(cause ?? error);
    const advice = "start the server, correct the address, or remove it to use the queue of the database";
    return failed("REDIS_URL", `${withoutPassword(url)} cannot be reached (${reason}); ${advice}`);
  } finally {
    client.disconnect();
  }
}

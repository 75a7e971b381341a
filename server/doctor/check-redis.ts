import { type CheckResult, failed, passed, reasonOf, withoutPassword } from "./check-result.ts";

const redisConnectMs = 3_000;

/** The oldest version that the queue's scripts run on. */
const oldest = { major: 6, minor: 2 } as const;

export function judgeVersion(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNewEnough = major > oldest.major || (major === oldest.major && minor >= oldest.minor);
  if (isNewEnough) return passed("REDIS_URL", `Redis ${version}`);
  return failed("REDIS_URL", `is Redis ${version || "of an unknown version"}; Atelier needs 6.2 or newer`);
}

/** Whether Redis answers within 3 s and is new enough. */
export async function checkRedis(url: string): Promise<CheckResult> {
  const { Redis } = await import("ioredis");
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: redisConnectMs,
    commandTimeout: redisConnectMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let cause: unknown;
  client.on("error", (error) => (cause = error));
  try {
    await client.connect();
    const info = await client.info("server");
    const version = /redis_version:(\S+)/.exec(info)?.[1] ?? "";
    return judgeVersion(version);
  } catch (error) {
    const reason = reasonOf(cause ?? error);
    const advice = "start the server, correct the address, or remove it to use the queue of the database";
    return failed("REDIS_URL", `${withoutPassword(url)} cannot be reached (${reason}); ${advice}`);
  } finally {
    client.disconnect();
  }
}

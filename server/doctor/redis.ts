import { type CheckResult, failed, passed, reasonOf, warned, withoutPassword } from "./checks.ts";

const redisConnectMs = 3_000;

/** The only policy under which no bell is lost in silence. */
const keeping = "noeviction";

interface RedisFacts {
  readonly version?: string | undefined;
  readonly policy?: string | undefined;
  /** `standalone`, `cluster` or `sentinel` */
  readonly mode?: string | undefined;
  readonly role?: string | undefined;
  /** How it keeps its data over a restart; empty: not at all. */
  readonly keeps?: string | undefined;
}

/** The oldest version that the queue's scripts run on. */
const oldest = { major: 6, minor: 2 } as const;
const name = "REDIS_URL";

/** Judges what Redis tells of itself; `policy` is what it does when its memory is full. */
export function judgeRedis(facts: RedisFacts): CheckResult {
  const { version = "", policy = keeping } = facts;
  const fault = faultOf(facts);
  if (fault !== null) return failed(name, fault);
  if (policy === keeping) return passed(name, aboutOf(facts));
  const advice = `it drops keys of the queue when its memory is full (${policy}); set maxmemory-policy ${keeping}`;
  return warned(name, `Redis ${version}: ${advice}`);
}

function faultOf({ version = "", mode, role }: RedisFacts): string | null {
  if (mode === "cluster" || mode === "sentinel")
    return `is a Redis ${mode}, which is not supported; name the one primary of a standalone Redis`;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNewEnough = major > oldest.major || (major === oldest.major && minor >= oldest.minor);
  if (!isNewEnough) return `is Redis ${version || "of an unknown version"}; Atelier needs 6.2 or newer`;
  return role === "slave" ? "is a replica, which takes no writes; name the primary that it follows" : null;
}

function aboutOf({ version, mode, keeps }: RedisFacts): string {
  const kept = keeps || "nothing over a restart, after which bells are rung again";
  const about = [
    `Redis ${version}`,
    ...(mode ? [mode] : []),
    ...(keeps === undefined ? [] : [`keeps ${kept}`]),
  ];
  return about.join(", ");
}

function readFacts(info: string): RedisFacts {
  const read = (field: string) => new RegExp(`^${field}:(\\S+)`, "m").exec(info)?.[1];
  const ways = [
    ...(read("aof_enabled") === "1" ? ["its data by an append-only file"] : []),
    ...(Number(read("rdb_saves") ?? 0) > 0 ? ["its data by snapshots"] : []),
  ];
  return {
    version: read("redis_version"),
    policy: read("maxmemory_policy"),
    mode: read("redis_mode"),
    role: read("role"),
    keeps: read("aof_enabled") === undefined ? undefined : ways.join(" and "),
  };
}

/** Whether Redis answers within 3 s, takes writes, is new enough and of a kind that works, and keeps what it was given. */
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
    const verdict = judgeRedis(readFacts(await client.info()));
    // Of another kind than the one that works only the kind counts: its refusal of a write says less.
    if (verdict.isOk) await client.set("atelier:doctor", "1", "PX", redisConnectMs);
    return verdict;
  } catch (error) {
    const reason = reasonOf(cause ?? error);
    if (client.status === "ready")
      return failed(
        name,
        `${withoutPassword(url)} takes no writes (${reason}); give it memory, or the address of the primary`,
      );
    const advice = "start the server, correct the address, or remove it to use the queue of the database";
    return failed(name, `${withoutPassword(url)} cannot be reached (${reason}); ${advice}`);
  } finally {
    client.disconnect();
  }
}

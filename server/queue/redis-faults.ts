import { Redis } from "ioredis";

const inspectMs = 3_000;
/** The oldest version that the queue's scripts run on. */
const oldest = { major: 6, minor: 2 } as const;

/** What a Redis tells of itself (INFO). */
export interface RedisKind {
  readonly version?: string | undefined;
  /** `standalone`, `cluster` or `sentinel` */
  readonly mode?: string | undefined;
}

/** Why the queue can never use a Redis of this kind, whatever one waits for; null when it can. */
export function whyUnusable({ version = "", mode }: RedisKind): string | null {
  if (mode === "cluster")
    return "is a Redis Cluster, which is not supported: name one Redis without cluster-enabled";
  if (mode === "sentinel") return "is a Sentinel, which keeps no data: name the primary that it watches";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (version === "" || major > oldest.major || (major === oldest.major && minor >= oldest.minor))
    return null;
  return `is Redis ${version}; version ${oldest.major}.${oldest.minor} or newer is needed`;
}

/** The value of a field of INFO. */
export function readInfo(info: string, field: string): string | undefined {
  return new RegExp(`^${field}:(\\S+)`, "m").exec(info)?.[1];
}

/** Of a database that the address names by a number; null when Redis has it. The client goes on in the first one, with what others have there. */
export async function whyNoDatabase(client: Redis): Promise<string | null> {
  const { db = 0 } = client.options;
  if (db === 0) return null;
  try {
    await client.select(db);
    return null;
  } catch (error) {
    if (!(error instanceof Error) || !isRefusal(error) || refusalWord(error) !== "ERR") throw error;
    return `has no database of this number (${error.message}); name one that it has, or none: hosted ones often have the first alone`;
  }
}

/** Why the queue can never use this Redis; null when it can, and when it does not answer now. */
export async function findUnusableRedis(url: string): Promise<string | null> {
  const client = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: inspectMs,
    commandTimeout: inspectMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const info = await client.info("server");
    const kind = { version: readInfo(info, "redis_version"), mode: readInfo(info, "redis_mode") };
    return whyUnusable(kind) ?? (await whyNoDatabase(client));
  } catch {
    return null;
  } finally {
    client.disconnect();
  }
}

/** The server has answered, and refused. */
export const isRefusal = (error: Error) => error.name === "ReplyError";

/** What to change, by the first word of a refusal. */
const advice: Readonly<Record<string, string>> = {
  MOVED: "Redis is a Cluster, which is not supported: set REDIS_URL to one Redis without cluster-enabled",
  READONLY: "Redis is a read-only replica: set REDIS_URL to the primary",
  NOAUTH: "Redis wants a password: set REDIS_URL to redis://:password@host:6379",
  WRONGPASS: "Redis refuses the user name or password of REDIS_URL",
  NOPERM:
    "The user of REDIS_URL may not do all that the queue needs: give it +@all ~atelier:* &atelier:*, of which the last are channels",
  DENIED: "Redis is in protected mode: give it a password (requirepass), or bind it to this machine",
  OOM: "The memory of Redis is full: raise its maxmemory, with maxmemory-policy noeviction",
  MISCONF: "Redis cannot write to its disk and takes no writes: see its own log",
  LOADING: "Redis is still reading its data",
  MASTERDOWN: "Redis is a replica without its primary: set REDIS_URL to the primary",
};
const alike: Readonly<Record<string, string>> = { CLUSTERDOWN: "MOVED", ASK: "MOVED", CROSSSLOT: "MOVED" };

/** The word of a refusal; empty for any other error. Redis before 7 wraps what a command of a script meets in an error of the script. */
export function refusalWord({ message }: Error): string {
  return /^(?:ERR Error running script .*?: -|-)?([A-Z]+)\b/.exec(message)?.[1] ?? "";
}

/** Of a hosted Redis that is paid for by requests, such as Upstash's. */
const spentRequests = /\bmax (?:daily )?requests? limit exceeded\b/i;
const spentAdvice =
  "The plan of this Redis has no requests left for this day or month: take a larger plan, or a Redis that counts none";

const noDatabase = /\bDB index\b|\b0th database\b/i;
const databaseAdvice = "Redis has no database of the number in REDIS_URL: name one that it has, or none";

const unknownCommand = /\bunknown command ['`]\w/i;
export const lacksCommand = ({ message }: Error) => unknownCommand.test(message);
const commandAdvice = "Redis lacks a command that the queue needs: take its rename-command away";

/** Of servers of Redis' kind, such as Dragonfly, whose scripts may touch no keys but those that they are given. */
const undeclaredKey = /\bundeclared key/i;
/** Touches a key that it was not given, as the queue's own scripts do. */
export const undeclaringScript = "return redis.call('exists', ARGV[1])";
export const refusesScripts = ({ message }: Error) => undeclaredKey.test(message);
const undeclaredAdvice =
  "This server of Redis' kind refuses the scripts of the queue, which touch keys that they name themselves: start Dragonfly with --default_lua_flags=allow-undeclared-keys";

/** One sentence for a refusal of Redis with its own first word; null for any other error. */
export function sentenceOfRefusal(error: Error): string | null {
  const word = refusalWord(error);
  if (spentRequests.test(error.message)) return `${spentAdvice} (${word}).`;
  if (noDatabase.test(error.message)) return `${databaseAdvice} (${word}).`;
  if (lacksCommand(error)) return `${commandAdvice} (${word}).`;
  if (refusesScripts(error)) return `${undeclaredAdvice} (${word}).`;
  const text = advice[alike[word] ?? word];
  return text === undefined ? null : `${text} (${word}).`;
}

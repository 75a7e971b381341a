import type { Redis } from "ioredis";
import {
  lacksCommand,
  readInfo,
  type RedisKind,
  refusalWord,
  refusesScripts,
  sentenceOfRefusal,
  undeclaringScript,
  whyNoDatabase,
  whyUnusable,
} from "../queue/index.ts";
import { type CheckResult, failed, passed, reasonOf, warned, withoutPassword } from "./checks.ts";

const redisConnectMs = 3_000;

/** The only policy under which no bell is lost in silence. */
const keeping = "noeviction";

interface RedisFacts extends RedisKind {
  readonly policy?: string | undefined;
  readonly role?: string | undefined;
  /** How it keeps its data over a restart; empty: not at all. */
  readonly keeps?: string | undefined;
}

const name = "REDIS_URL";

/** Judges what Redis tells of itself; `policy` is what it does when its memory is full. */
export function judgeRedis(facts: RedisFacts): CheckResult {
  const { version = "", policy = keeping } = facts;
  const fault = faultOf(facts);
  if (fault !== null) return failed(name, fault);
  if (policy === keeping) return passed(name, aboutOf(facts));
  return warned(
    name,
    `Redis ${version}: it drops keys of the queue when its memory is full (${policy}); set maxmemory-policy ${keeping}`,
  );
}

function faultOf({ version, mode, role }: RedisFacts): string | null {
  const isReplica = role === "slave";
  return (
    whyUnusable({ version, mode }) ??
    (isReplica ? "is a replica, which takes no writes; name the primary that it follows" : null) ??
    (version ? null : "does not tell its version, so it may be no Redis")
  );
}

function aboutOf({ version, mode, keeps }: RedisFacts): string {
  const kept = keeps || "nothing over a restart, after which bells are rung again";
  const about = [`Redis ${version}`, ...(mode ? [mode] : [])].join(", ");
  return keeps === undefined ? about : `${about}, keeps ${kept}`;
}

function readFacts(info: string): RedisFacts {
  const read = (field: string) => readInfo(info, field);
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
  const { Redis: Client } = await import("ioredis");
  const client = new Client(url, {
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
    if (!verdict.isOk) return verdict;
    const missing = await whyNoDatabase(client);
    if (missing !== null) return failed(name, missing);
    await useAsQueue(client);
    return verdict;
  } catch (error) {
    return failed(name, whyUseless(error, { url, cause, isReady: client.status === "ready" }));
  } finally {
    client.disconnect();
  }
}

/** Throws what Redis refuses of all that the queue does. */
async function useAsQueue(client: Redis): Promise<void> {
  await client.set("atelier:doctor", "1", "PX", redisConnectMs);
  // Since Redis 7 a user may use no channel that its ACL does not name.
  await client.publish("atelier:doctor", "");
  await client.eval(undeclaringScript, 0, "atelier:doctor");
  // What a worker waits with; users of some hosts may not.
  await client.bzpopmin("atelier:doctor:none", 0.01);
}

interface Tried {
  readonly url: string;
  /** What the connection itself has told. */
  readonly cause: unknown;
  readonly isReady: boolean;
}

function whyUseless(error: unknown, { url, cause = error, isReady }: Tried): string {
  const reason = reasonOf(cause);
  if (error instanceof Error && refusalWord(error) === "NOPERM")
    return `its user may not do all that the queue needs (${reason}); ACL SETUSER … +@all ~atelier:* &atelier:*`;
  if (cause instanceof Error && lacksCommand(cause))
    return `lacks a command that the queue needs (${reason.split(",", 1)[0]}); take its rename-command away`;
  if (error instanceof Error && refusesScripts(error)) return sentenceOfRefusal(error) ?? error.message;
  if (isReady)
    return `${withoutPassword(url)} takes no writes (${reason}); give it memory, or the address of the primary`;
  const advice = "start the server, correct the address, or remove it to use the queue of the database";
  return `${withoutPassword(url)} cannot be reached (${reason}); ${advice}`;
}

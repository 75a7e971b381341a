import type { Checkup } from "../db/index.ts";
import type { NodeFigures, ServerFigures } from "../monitoring/index.ts";
import { isPresentState } from "../nodes/index.ts";
import { type Env, keptBy } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { currentWords, retellFinding } from "../words.ts";
import { type CheckResult, failed, passed, warned } from "./checks.ts";
import { checkConnections, finish } from "./connections.ts";
import { judgeServers, type SeenServer } from "./servers.ts";

type Opened = Pick<Services, "db" | "env" | "config">;

/** The checks of each process; a second request while they run gets the same findings. */
const runningOf = keptBy((_db: Services["db"]): { now: Promise<Checkup> | null } => ({ now: null }));

/** What the last look found, in the words of its reader, and whether this process looks now. */
export async function readCheckup({ db }: Opened) {
  const { schema } = await import("../db/index.ts");
  const [row] = await db.select({ checkup: schema.studio.checkup }).from(schema.studio);
  const words = currentWords();
  const last = row?.checkup && {
    ...row.checkup,
    findings: row.checkup.findings.map(({ name, state, message }) => ({
      name: retellFinding(name, words) ?? name,
      state,
      message: retellFinding(message, words) ?? message,
    })),
  };
  const ageMs = last ? Date.now() - Date.parse(last.at) : null;
  return { last: last ?? null, ageMs, isRunning: runningOf(db).now !== null };
}

/** Tries everything and keeps what was found. `checkOwn` is the part of a start, for this process's environment. */
export function checkEverything(
  services: Opened,
  checkOwn: (env: Env & { readonly DATABASE_URL: string }) => Promise<CheckResult[]>,
): Promise<Checkup> {
  const running = runningOf(services.db);
  running.now ??= lookAndKeep(services, checkOwn).finally(() => (running.now = null));
  return running.now;
}

async function lookAndKeep(
  services: Opened,
  checkOwn: Parameters<typeof checkEverything>[1],
): Promise<Checkup> {
  const { db, env, config } = services;
  const { schema } = await import("../db/index.ts");
  const databaseUrl = env.DATABASE_URL ?? "";
  const { readNodes } = await import("../monitoring/index.ts");
  const found = await Promise.all([
    checkOwn({ ...env, DATABASE_URL: databaseUrl }),
    checkConnections({ env, config, database: Promise.resolve(databaseUrl), mailTo: null }),
    readNodes(services).then(judgeNodes),
  ]);
  const checkup: Checkup = { at: new Date().toISOString(), findings: finish(found.flat(), env) };
  const { studio } = schema;
  await db.insert(studio).values({ checkup }).onConflictDoUpdate({ target: studio.id, set: { checkup } });
  return checkup;
}

/** Workers, and their servers as they saw them last: only they are connected to them. */
function judgeNodes(nodes: readonly NodeFigures[]): CheckResult[] {
  const live = nodes.filter(({ state }) => isPresentState(state));
  if (live.length === 0) return [failed("Workers", "none is connected, so nothing is made; start one")];
  const present = live.filter(({ isAway }) => !isAway);
  const seen = present.flatMap(({ name, servers }) => servers.map((server) => toSeen(name, server)));
  return [...live.flatMap(judgeNode), ...judgeServers(seen)];
}

function judgeNode({ name, isAway, seenMs, servers, problems }: NodeFigures): CheckResult[] {
  const title = `Worker ${name}`;
  if (isAway) return [failed(title, `has not reported for ${Math.round(seenMs / 1_000)} s; start it again`)];
  return [
    passed(title, connectedWith(servers.length)),
    ...problems.map(({ what, reason }) => warned(`${title}, ${what}`, reason)),
  ];
}

function connectedWith(servers: number): string {
  if (servers === 0) return "is connected, with no servers of its own";
  return servers === 1 ? "is connected, with 1 server" : `is connected, with ${servers} servers`;
}

function toSeen(node: string, server: ServerFigures): SeenServer {
  const { label, engine, version, device, deviceName, needs, models, missing, state, lastError } = server;
  const reason = { down: "is down", degraded: "is degraded" };
  return {
    label,
    engine: engine === "iopaint" ? "iopaint" : "comfyui",
    seenFrom: node,
    reason: state === "down" || state === "degraded" ? (lastError ?? reason[state]) : null,
    said: "",
    noAnswer: "",
    version,
    device: deviceName ?? device,
    needs,
    models,
    missing,
    socketReason: null,
  };
}

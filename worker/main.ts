/**
 * The worker process. It takes jobs of its queues, runs each with an engine (the local one in this process' children, or a
 * ComfyUI or IOPaint server), stores the result and writes the end of the job. The database row of a job is the truth:
 * a bell of the queue only invites the worker to claim.
 *
 * Words: a *node* is this process as the database knows it; an *offer* is the list of queues, slots and needs that the
 * node can take now; the *pool* is the node's servers; a *lease* (job, attempt, node) permits each write of a run;
 * a *server lease* reserves an IOPaint server, which all workers share, for one run.
 *
 * Order of the start (`start` and `main` here, then `work` in work.ts):
 *
 *   flags, environment          args.ts; in a terminal the user may choose kinds
 *   log, config, workflows      a refused workflow becomes a problem of the node and does not stop the start
 *   pool is made                servers/: reads nothing yet, so `pool.list()` is empty
 *   engines are made            engines/: the local one; with sources of servers also ComfyUI and IOPaint
 *   services are opened         database, queue, store, hints
 *   first offer                 offer.ts: of the machine alone, without servers; what the gate judges only with its model
 *   HTTP port is opened         http/: only with WORKER_HTTP_PORT; /health answers 503 until the node is registered
 *   readiness is checked        readiness.ts: nothing is claimed while the disk is full or the store is away
 *   node is registered          presence.ts, incarnation.ts: row with the first offer, settings of the admin, beat thread
 *   consumers                   claims.ts: bells of the offered queues; local jobs can start from here on
 *   pool.start(), not awaited   servers/: reads the sources, probes each server
 *   loops                       watch-over.ts: cancel requests, lost nodes, sweep; node.ts: changes of the offer, requests of
 *                               admins; shared-servers.ts: server leases; readiness.ts: disk and store again and again;
 *                               duties.ts: recurring work of the studio, by turns; what open jobs wait for; orphaned prompts;
 *                               deliveries.ts: webhooks and messages about ended jobs; telegram/: the bot;
 *                               assistant.ts: stages of questions; cloud/follow.ts: runs that providers have
 *   a server answers            the pool changes -> live-offer.ts computes a new offer -> `followNode` in node.ts joins
 *                               the new queues, stores the offer with the node and dispatches the jobs that waited for it
 *
 * The end runs backwards: no new claims, runs end or are handed back, stages of questions and runs at providers are given
 * back, the beat stops, the node is marked gone, the other loops stop (`work`).
 * `--once` (once.ts) is the short form: local engine only, one claim, then the same end. With `--queue` it is the whole worker
 * for one queue, which ends when no job of it is left (until-empty.ts).
 *
 * Not here: no status is written except through `server/jobs`, no decision about which job goes where (`server/scheduling`),
 * and nothing under `worker/` is imported by the web process.
 */
import path from "node:path";
import {
  type Config,
  ConfigError,
  type ConfigProblem,
  type Env,
  findMisspelled,
  findVainStarts,
  loadConfig,
  type Logger,
  openLog,
  parseEnv,
  toAppError,
} from "@atelier/server/platform";
import { clientOf, modelsOf, paidKinds, readKeys } from "@atelier/server/providers";
import { openServices } from "@atelier/server/services";
import { askOnly, type Flags, mayAsk, parseFlags, possibleKinds, retiredExitCode, usage } from "./args.ts";
import { createLocalEngine, createServerEngines } from "./engines/index.ts";
import { workOnce } from "./once.ts";
import { untilEmptyOf } from "./until-empty.ts";
import { createServerPool, createSources } from "./servers/index.ts";
import { endProcess, loadWorkflows, work, type WorkInput } from "./work.ts";

async function start(flags: Flags): Promise<void> {
  const named = flags.only === null ? {} : { WORKER_ONLY: flags.only };
  const { env, problems } = parseEnv({ ...process.env, ...named });
  if (!env) return refuseConfig(problems);
  const config = await readConfig(env);
  if (!config) return;
  const dataDir = path.resolve(env.ATELIER_DATA_DIR);
  const only = await chooseOnly(env, config, flags);
  await main({ ...env, ATELIER_DATA_DIR: dataDir, WORKER_ONLY: only }, config, flags);
}

function refuseConfig(problems: readonly ConfigProblem[]): void {
  const lines = problems.map(({ name, message }) => `  ${name}: ${message}`);
  refuse(`The worker cannot start:\n${lines.join("\n")}`);
}

/** Null, after the faults were printed, when the file about behaviour is not valid. */
async function readConfig({ ATELIER_CONFIG: file }: Env): Promise<Config | null> {
  try {
    const config = await loadConfig(file);
    modelsOf(config);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    refuseConfig(error.problems);
    return null;
  }
}

/** The kinds that this worker takes. Under the supervisor stdin is no terminal: the supervisor has asked already. */
async function chooseOnly(env: Env, config: Config, { once }: Flags): Promise<string[]> {
  const only = env.WORKER_ONLY;
  if (once || !mayAsk({ isTerminal: process.stdin.isTTY, ci: process.env["CI"], only })) return only;
  return askOnly({
    kinds: possibleKinds(env, paidKinds(env, modelsOf(config))),
    input: process.stdin,
    output: process.stdout,
  });
}

async function main(env: Env, config: Config, { once }: Flags): Promise<void> {
  const log = await openLog({ env, name: "worker" });
  for (const { name, message } of findMisspelled(process.env)) log.warn({ name }, `${name} ${message}`);
  try {
    const open = () => openServices({ env, config, name: "worker", log });
    if (once?.queue === null) {
      await workOnce(await open(), { engines: [createLocalEngine({ log })], waitMs: once.waitMs });
    } else {
      const input = await prepare({ env, config, log }, once);
      const cause = await work(await open(), input);
      if (cause === "retired") process.exitCode = retiredExitCode;
      if (cause === "unserved") process.exitCode = 1;
    }
    log.info("worker stopped");
  } catch (error) {
    if (error instanceof ConfigError) return refuseConfig(error.problems);
    const { message, cause } = toAppError(error);
    log.fatal({ err: cause ?? error }, message);
    process.exitCode = 1;
  }
}

/** Makes the engines; those for servers only when a source of servers is configured. */
async function prepare(
  { env, config, log }: { env: Env; config: Config; log: Logger },
  once: Flags["once"],
): Promise<WorkInput> {
  const until = untilEmptyOf(config, once);
  const keys = readKeys(env);
  if (keys.length > 0) for (const reason of findVainStarts(config)) log.warn(reason);
  const { all: workflows, own: ownWorkflows, problems } = await loadWorkflows(env);
  for (const { what, reason } of problems) log.warn({ workflow: what, reason }, "workflow refused");
  const { sources, problems: ofServers } = createSources(env);
  for (const { what, reason } of ofServers) log.warn({ name: what, reason }, "server not used");
  const pool = createServerPool({ sources, workflows, config, log });
  const serverEngines = sources.length > 0 ? createServerEngines({ pool, config, log }) : [];
  // A worker for one queue takes nothing for providers.
  const providers = { keys: until ? [] : keys, clientOf };
  return {
    ...(until ? { until } : {}),
    engines: [createLocalEngine({ log }), ...serverEngines],
    pool,
    providers,
    workflows,
    ownWorkflows,
    problems: [...problems, ...ofServers],
  };
}

function refuse(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

/** The worker's process from its flags to its end. */
export async function runWorker(args: readonly string[]): Promise<void> {
  // Only the owner of the process may read pictures and logs.
  process.umask(0o077);
  const { flags, problem } = parseFlags(args);
  if (!flags) refuse(problem);
  else if (flags.wantsHelp) process.stdout.write(`${usage}\n`);
  else await start(flags);
  endProcess();
}

if (import.meta.main) await runWorker(process.argv.slice(2));

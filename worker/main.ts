import path from "node:path";
import {
  type Config,
  type Env,
  loadConfig,
  type Logger,
  openLog,
  parseEnv,
  toAppError,
} from "@atelier/server/platform";
import { openServices } from "@atelier/server/services";
import { askOnly, type Flags, mayAsk, parseFlags, possibleKinds, retiredExitCode, usage } from "./args.ts";
import { createLocalEngine, createServerEngines } from "./engines/index.ts";
import { workOnce } from "./once.ts";
import { createServerPool, createSources } from "./servers/index.ts";
import { endProcess, loadWorkflows, work, type WorkInput } from "./work.ts";

async function main(env: Env, { once }: Flags): Promise<void> {
  const log = await openLog({ env, name: "worker" });
  try {
    const config = await loadConfig(env.ATELIER_CONFIG);
    const open = () => openServices({ env, config, name: "worker", log });
    if (once) {
      await workOnce(await open(), { engines: [createLocalEngine({ log })], ...once });
    } else {
      const input = await prepare({ env, config, log });
      if ((await work(await open(), input)) === "retired") process.exitCode = retiredExitCode;
    }
    log.info("worker stopped");
  } catch (error) {
    const { message, cause } = toAppError(error);
    log.fatal({ err: cause ?? error }, message);
    process.exitCode = 1;
  }
}

/** Engines of servers are there only where servers are looked for. */
async function prepare({ env, config, log }: { env: Env; config: Config; log: Logger }): Promise<WorkInput> {
  const { workflows, problems } = await loadWorkflows(env);
  for (const { what, reason } of problems) log.warn({ workflow: what, reason }, "workflow refused");
  const sources = createSources(env);
  const pool = createServerPool({ sources, workflows: () => workflows, config, log });
  const ofServers = sources.length > 0 ? createServerEngines({ pool, config, log }) : [];
  return { engines: [createLocalEngine({ log }), ...ofServers], pool, workflows, problems };
}

/** Under the supervisor there is no terminal here: it has asked by then. */
async function chooseOnly(env: Env, { once }: Flags): Promise<string[]> {
  const only = env.WORKER_ONLY;
  if (once || !mayAsk({ isTerminal: process.stdin.isTTY, ci: process.env["CI"], only })) return only;
  return askOnly({ kinds: possibleKinds(env), input: process.stdin, output: process.stdout });
}

function refuse(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

async function start(flags: Flags): Promise<void> {
  const only = flags.only === null ? {} : { WORKER_ONLY: flags.only };
  const { env, problems } = parseEnv({ ...process.env, ...only });
  if (env) {
    const dataDir = path.resolve(env.ATELIER_DATA_DIR);
    await main({ ...env, ATELIER_DATA_DIR: dataDir, WORKER_ONLY: await chooseOnly(env, flags) }, flags);
    return;
  }
  const lines = problems.map(({ name, message }) => `  ${name}: ${message}`);
  refuse(`The worker cannot start:\n${lines.join("\n")}`);
}

// Pictures and logs are for this user alone.
process.umask(0o077);
const { flags, problem } = parseFlags(process.argv.slice(2));
if (!flags) refuse(problem);
else if (flags.wantsHelp) process.stdout.write(`${usage}\n`);
else await start(flags);
endProcess();

import path from "node:path";
import {
  loadConfig,
  openLog,
  parseEnv,
  toAppError,
  type Config,
  type Env,
  type Logger,
} from "@atelier/server/platform";
import { openServices } from "@atelier/server/services";
import { createLocalEngine, createServerEngines } from "./engines/index.ts";
import { loadWorkflows } from "./load-workflows.ts";
import { createServerPool, createSources } from "./servers/index.ts";
import { work, type WorkInput } from "./work.ts";

async function main(env: Env): Promise<void> {
  const log = await openLog({ env, name: "worker" });
  try {
    const config = await loadConfig(env.ATELIER_CONFIG);
    const input = await prepare({ env, config, log });
    const services = await openServices({ env, config, name: "worker", log });
    await work(services, input);
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

const parsed = parseEnv(process.env);
if (parsed.env) {
  await main({ ...parsed.env, ATELIER_DATA_DIR: path.resolve(parsed.env.ATELIER_DATA_DIR) });
} else {
  const lines = parsed.problems.map(({ name, message }) => `  ${name}: ${message}`);
  process.stderr.write(`The worker cannot start:\n${lines.join("\n")}\n`);
  process.exitCode = 1;
}

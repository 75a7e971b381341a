import path from "node:path";
import { loadConfig, openLog, parseEnv, toAppError, type Env } from "@atelier/server/platform";
import { openServices } from "@atelier/server/services";
import { createLocalEngine } from "./engines/index.ts";
import { work } from "./work.ts";

async function main(env: Env): Promise<void> {
  const log = await openLog({ env, name: "worker" });
  try {
    const config = await loadConfig(env.ATELIER_CONFIG);
    const services = await openServices({ env, config, name: "worker", log });
    await work(services, [createLocalEngine({ log })]);
    log.info("worker stopped");
  } catch (error) {
    const { message, cause } = toAppError(error);
    log.fatal({ err: cause ?? error }, message);
    process.exitCode = 1;
  }
}

const parsed = parseEnv(process.env);
if (parsed.env) {
  await main({ ...parsed.env, ATELIER_DATA_DIR: path.resolve(parsed.env.ATELIER_DATA_DIR) });
} else {
  const lines = parsed.problems.map(({ name, message }) => `  ${name}: ${message}`);
  process.stderr.write(`The worker cannot start:\n${lines.join("\n")}\n`);
  process.exitCode = 1;
}

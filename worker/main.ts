import os from "node:os";
import path from "node:path";
import { retire, drain } from "@atelier/server/nodes";
import { loadConfig, openLog, parseEnv, toAppError, type Env } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { detectOffer } from "./capability.ts";
import { consume } from "./consume.ts";
import { createLocalEngine } from "./engines/index.ts";
import { startIncarnation, type Incarnation } from "./incarnation.ts";
import { startLoops } from "./loops.ts";
import { createMutex } from "./mutex.ts";
import { createRuns } from "./runs.ts";
import { onceStopped } from "./stop-signal.ts";

/** Before the grace time ends, runs that are not done are handed back. */
const handBackLeadMs = 5_000;

async function main(env: Env): Promise<void> {
  const log = await openLog({ env, name: "worker" });
  try {
    const config = await loadConfig(env.ATELIER_CONFIG);
    const services = await openServices({ env, config, name: "worker", log });
    await work(services);
    log.info("worker stopped");
  } catch (error) {
    const { message, cause } = toAppError(error);
    log.fatal({ err: cause ?? error }, message);
    process.exitCode = 1;
  }
}

/** Runs until SIGINT or SIGTERM; then takes nothing new, ends or hands back its jobs and leaves in order (A17). */
async function work(services: Services): Promise<void> {
  const { env, config } = services;
  const engine = createLocalEngine({ log: services.log });
  const engines = [engine];
  const offer = detectOffer(env, config, engines);
  const runs = createRuns();
  const oneAtATime = createMutex();
  const incarnation = await startIncarnation(services, {
    name: env.WORKER_NAME ?? os.hostname(),
    offer,
    onLost: async () => {
      runs.stopAll("lost");
      await runs.settled();
    },
  });
  const consumer = consume(services, { offer, engines, incarnation, runs, oneAtATime });
  const loops = startLoops(services, { incarnation, runs, oneAtATime });

  const signal = await onceStopped();
  services.log.info({ signal, runs: runs.leases().length }, "stopping");
  const handBack = setTimeout(
    () => runs.stopAll("stopping"),
    Math.max(0, config.timing.stopGraceMs - handBackLeadMs),
  );
  await leave(services, incarnation, async () => {
    await consumer.close();
    await runs.settled();
  });
  clearTimeout(handBack);
  await Promise.all(loops.map((loop) => loop.stop()));
  await engine.close();
  await services.close();
}

/** The node beats until its jobs are done and only then is gone. */
async function leave(
  services: Services,
  incarnation: Incarnation,
  settle: () => Promise<void>,
): Promise<void> {
  const node = incarnation.current();
  if (node)
    await drain(services, node.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not drained"),
    );
  await settle();
  await incarnation.stop();
  if (node)
    await retire(services, node.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not retired"),
    );
}

const parsed = parseEnv(process.env);
if (parsed.env) {
  await main({ ...parsed.env, ATELIER_DATA_DIR: path.resolve(parsed.env.ATELIER_DATA_DIR) });
} else {
  const lines = parsed.problems.map(({ name, message }) => `  ${name}: ${message}`);
  process.stderr.write(`The worker cannot start:\n${lines.join("\n")}\n`);
  process.exitCode = 1;
}

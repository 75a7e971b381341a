import { flushCompileCache } from "node:module";
import pino from "pino";
import { leaveOutRepeats, loadConfig, parseEnv } from "@atelier/server/platform";
import { clientOf, readKeys } from "@atelier/server/providers";
import { openServices } from "@atelier/server/services";
import { retiredExitCode } from "@atelier/worker/args";
import { createServerEngines } from "@atelier/worker/engines";
import { createServerPool, createSources } from "@atelier/worker/servers";
import { endProcess, loadWorkflows, work } from "@atelier/worker/work";
import { pauseAt } from "./pause.ts";
import { createSimulatedEngine, dieOn, ordersName, type WorkerOrders } from "./simulated-engine.ts";

const flushAfterMs = 500;

/** The product's worker with a simulated engine, started by `startTestWorker`. */
async function main(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(`wrong environment of the test worker: ${JSON.stringify(problems)}`);
  const orders: WorkerOrders = JSON.parse(process.env[ordersName] ?? "");
  const log = pino({ level: env.LOG_LEVEL, hooks: { logMethod: leaveOutRepeats() } });
  const config = await loadConfig(env.ATELIER_CONFIG);
  const opened = await openServices({ env, config, name: "test worker", log });
  const { all: workflows, own: ownWorkflows, problems: refused } = await loadWorkflows(env);
  const { sources, problems: ofSources } = createSources(env);
  const pool = createServerPool({ sources, workflows, config, log });
  const ofServers = sources.length > 0 ? createServerEngines({ pool, config, log }) : [];
  const mortal = orders.dieOn === null ? ofServers : ofServers.map((each) => dieOn(orders.dieOn ?? "", each));
  const all = [createSimulatedEngine(orders.script, say), ...mortal];
  const { services, engines, ...providers } = pauseAt(orders.pauseAt, {
    services: opened,
    engines: all,
    clientOf,
    say,
  });
  // Most are killed before they could store for the next start what they have compiled.
  setTimeout(flushCompileCache, flushAfterMs).unref();
  const reason = await work(services, {
    engines,
    pool,
    providers: { keys: readKeys(env), clientOf: providers.clientOf },
    workflows,
    ownWorkflows,
    problems: [...refused, ...ofSources],
  });
  if (reason === "retired") process.exitCode = retiredExitCode;
  say("left in order");
}

await main();
endProcess();

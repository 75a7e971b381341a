import { submit } from "@atelier/server/jobs";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pino from "pino";
import { ordersName, type DeathPoint, type SubmitOrders } from "./scene.ts";

/** A process that takes one job in as the web does and is gone (kill -9) before anybody heard of it. */
async function main(): Promise<void> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(`wrong environment: ${JSON.stringify(problems)}`);
  const { submitter, request, point }: SubmitOrders = JSON.parse(process.env[ordersName] ?? "");
  const log = pino({ level: env.LOG_LEVEL });
  const services = await openServices({ env, config: parseConfig({}), name: "test submit", log });
  await submit(dyingAt(point, services), request, { submitter });
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("not reached");
}

function dyingAt(point: DeathPoint, services: Services): Services {
  if (point === "queued") return { ...services, bells: { ...services.bells, ring: die } };
  // The hint is the first thing after the commit that accepts the job.
  return { ...services, hints: { ...services.hints, publish: die } };
}

await main();

import { submitBatch } from "@atelier/server/batches";
import { submit } from "@atelier/server/jobs";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pino from "pino";
import { batchKey, ordersName, type DeathPoint, type SubmitOrders } from "./scene.ts";

/** A process that takes one job or one batch in as the web does and is gone (kill -9) before anybody heard of it. */
async function main(): Promise<void> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(`wrong environment: ${JSON.stringify(problems)}`);
  const { submitter, request, point }: SubmitOrders = JSON.parse(process.env[ordersName] ?? "");
  const log = pino({ level: env.LOG_LEVEL });
  const services = await openServices({ env, config: parseConfig({}), name: "test submit", log });
  const dying = dyingAt(point, services);
  if (typeof request === "object" && request !== null && "jobs" in request) {
    const { signal } = new AbortController();
    await submitBatch(dying, request, { submitter, signal, idempotencyKey: batchKey });
  } else await submit(dying, request, { submitter });
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("not reached");
}

function dyingAt(point: DeathPoint, services: Services): Services {
  if (point === "storing") return { ...services, db: dyingInTransaction(services.db) };
  if (point === "queued") return { ...services, bells: { ...services.bells, ring: die } };
  // The hint is the first thing after the commit that accepts the job.
  return { ...services, hints: { ...services.hints, publish: die } };
}

/** Jobs of the batch that were stored before the death. */
const storedFirst = 3;

/** The same database, but a transaction that stores several jobs dies after the first ones. */
function dyingInTransaction(db: Services["db"]): Services["db"] {
  let calls = 0;
  const counted = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "transaction")
          return (work: (tx: object) => unknown) => value.call(target, (tx: object) => work(counted(tx)));
        if (name === "execute" && target !== db && (calls += 1) > storedFirst) return die;
        return value.bind(target);
      },
    });
  return counted(db);
}

await main();

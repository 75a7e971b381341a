import { sql, type SQL } from "drizzle-orm";
import { ruleOf, type AppError, type Config } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import type { Job } from "./job.ts";
import { heldBy, type Lease } from "./lease.ts";
import { letNextOut } from "./let-next-out.ts";
import { readJob } from "./read-job.ts";
import { reroute, type Way } from "./reroute.ts";
import { claimedStatuses } from "./status.ts";
import { transition } from "./transition.ts";

/**
 * Ends a try that failed. The error's row in the table decides: the strategy `fail` ends it at once, anything else goes back to
 * the line until the job has spent its charged tries, or its tries of any kind: what is out of order for so long will not
 * come right by waiting. A job that is tried once ends with its first failure. Null when the lease is no longer the current one.
 */
export async function fail(services: Services, lease: Lease, error: AppError): Promise<Job | null> {
  const way = await findWay(services, lease, error);
  const failed = way === null ? await end(services, lease, error) : null;
  if (failed) return finish(services, failed);
  const again = way && (await requeue(services, lease, { error, way }));
  if (again) return finish(services, again);
  const ended = await end(services, lease, error);
  return ended ? finish(services, ended) : null;
}

/** Where the next try goes; null when there is none. */
async function findWay(services: Services, lease: Lease, error: AppError): Promise<Way | null> {
  const { strategy } = ruleOf(error.code);
  if (strategy === "fail") return null;
  const job = await readJob(services, lease.jobId);
  if (!job || (job.once && wasTried(error))) return null;
  return reroute(services, job, error);
}

/** Where no server was free nothing was tried: the job only waits on. */
function wasTried({ code }: AppError): boolean {
  return code !== "server_busy";
}

async function finish(services: Services, job: Job): Promise<Job> {
  hint(services, [job]);
  await letNextOut(services, job.queue);
  return job;
}

async function requeue(
  services: Services,
  lease: Lease,
  { error, way }: { error: AppError; way: Way },
): Promise<Job | null> {
  const rule = ruleOf(error.code);
  const { maxCharged, maxAttempts } = services.config.limits;
  const charge = rule.charged ? 1 : 0;
  return transition(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: sql`${heldBy(lease)} and charged + ${charge} < ${maxCharged} and attempt < ${maxAttempts}`,
    set: {
      charged: sql`charged + ${charge}`,
      nodeId: null,
      progress: 0,
      stage: null,
      notBefore: way.waits ? nextTryAt(services.config) : null,
      ...way.set,
    },
    honourCancel: true,
    event: "requeued",
    data: { code: error.code, charged: rule.charged, ...exceptionOf(error), ...way.data },
  });
}

/** What a server raised, for the story that admins read. */
function exceptionOf({ details }: AppError): { readonly exception?: string } {
  const exception = details?.["exception"];
  return typeof exception === "string" ? { exception } : {};
}

/** The wait doubles with each try; the exponent is bounded, since a number of any size must not overflow. */
function nextTryAt({ timing }: Config): SQL {
  const { retryDelayMs, maxRetryDelayMs } = timing;
  const waitMs = sql`least(${maxRetryDelayMs}::float8, ${retryDelayMs}::float8 * power(2, least(attempt, 30) - 1))`;
  return sql`now() + ${waitMs} * interval '1 millisecond'`;
}

async function end(services: Services, lease: Lease, error: AppError): Promise<Job | null> {
  return transition(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: heldBy(lease),
    set: {
      charged: sql`charged + ${ruleOf(error.code).charged ? 1 : 0}`,
      errorCode: error.code,
      errorMessage: error.message,
      errorDetails: { ...error.details },
    },
    event: "failed",
    data: { code: error.code, message: error.message, ...exceptionOf(error) },
  });
}

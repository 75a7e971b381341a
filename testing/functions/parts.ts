import { startPgBouncer } from "../pgbouncer/index.ts";
import { startPrivatePostgres } from "../postgres/index.ts";
import { startRedis } from "../redis/index.ts";
import { startS3 } from "../s3/index.ts";

/** What the pages as functions and a worker elsewhere share: PostgreSQL behind PgBouncer, Redis and a bucket. */
export interface FunctionParts {
  /** The environment of a function. */
  readonly web: Readonly<Record<string, string>>;
  /** The environment of the worker, which reaches the database itself, too. */
  readonly worker: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Short, so that streams end and go on during the journeys. */
const functionSeconds = 20;
/** Sessions of the database for all processes together. */
const poolSize = 6;

/** Starts them; pages at `origin` may send pictures to the bucket. */
export async function openFunctionParts(origin: string): Promise<FunctionParts> {
  const [postgres, redis, s3] = await Promise.all([startPrivatePostgres(), startRedis(), startS3()]);
  const pooler = await startPgBouncer(postgres.url, { poolSize });
  await s3.allowOrigin(origin);
  const shared = {
    DATABASE_URL: pooler.url,
    DATABASE_POOLER: "transaction",
    REDIS_URL: redis.url,
    ...s3.env,
  };
  return {
    web: {
      ...shared,
      // The fewest that may be set.
      DATABASE_MAX_CONNECTIONS: "1",
      FUNCTION_SECONDS: String(functionSeconds),
      APP_URL: origin,
      AUTH_SECRET: "a-secret-of-the-functions-that-is-long-enough",
    },
    worker: { ...shared, DATABASE_DIRECT_URL: postgres.url },
    async close() {
      await Promise.all([pooler.destroy(), redis.destroy(), s3.destroy()]);
      await postgres.destroy();
    },
  };
}

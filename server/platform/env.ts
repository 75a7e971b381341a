import { z } from "zod";

const text = z.string().trim().min(1);
const optionalText = text.optional();
const port = z.coerce.number().int().min(0).max(65_535);
const list = z.string().transform((value) =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean),
);

const databaseUrl = z.url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// address" });
const redisUrl = z.url({ protocol: /^rediss?$/, error: "must be a redis:// address" });

const envSchema = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  REDIS_URL: redisUrl.optional(),
  S3_ENDPOINT: z.url().optional(),
  S3_REGION: optionalText,
  S3_BUCKET: optionalText,
  S3_ACCESS_KEY_ID: optionalText,
  S3_SECRET_ACCESS_KEY: optionalText,
  APP_URL: z.url().optional(),
  HOST: text.default("127.0.0.1"),
  PORT: port.default(3000),
  AUTH_SECRET: z.string().min(32, "must have at least 32 characters").optional(),
  WORKER_NAME: optionalText,
  WORKER_ONLY: list.default([]),
  WORKER_CPU_SLOTS: z.coerce.number().int().min(1).max(64).optional(),
  /** Folder of the embedded services, the files and the logs. */
  ATELIER_DATA_DIR: text.default(".data"),
  /** File about behaviour (queues, limits, lease times). */
  ATELIER_CONFIG: text.default("atelier.config.ts"),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

export type Env = z.infer<typeof envSchema>;

/** One thing that is wrong with the configuration: which name, and what to do in plain words. */
export interface ConfigProblem {
  readonly name: string;
  readonly message: string;
}

/** Parses the environment; returns every problem at once instead of throwing. Empty values count as unset. */
export function parseEnv(
  source: NodeJS.ProcessEnv,
): { env: Env; problems: [] } | { env: null; problems: ConfigProblem[] } {
  const set = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== ""));
  const result = envSchema.safeParse(set);
  if (result.success) return { env: result.data, problems: [] };
  const problems = result.error.issues.map((issue) => ({
    name: issue.path.join("."),
    message: issue.message,
  }));
  return { env: null, problems };
}

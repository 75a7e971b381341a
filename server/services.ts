import type { Logger as PinoLogger } from "pino";
import { type Db, openDatabase } from "./db/index.ts";
import {
  AppError,
  closeKept,
  type Config,
  ConfigError,
  type Env,
  isFunction,
  type Later,
  logConnectionErrors,
  type Logger,
  openLog,
  openTracing,
  type Tracing,
  useProxies,
} from "./platform/index.ts";
import {
  type Bells,
  createBells,
  createHints,
  findUnusableRedis,
  type Hints,
  queueConnection,
  sentenceOfRefusal,
} from "./queue/index.ts";
import { closeFolders, type ImageDisk, openDisk, sweepTempFolders, tempFolderMs } from "./storage/index.ts";

/** What a process holds open; verbs take it as their first argument. */
export interface Services {
  readonly env: Env;
  readonly config: Config;
  readonly log: PinoLogger;
  readonly db: Db;
  readonly disk: ImageDisk;
  readonly bells: Bells;
  readonly hints: Hints;
  /** For whatever a request starts and does not await; the log has what fails. */
  readonly later: Later;
  /** Null while nothing is traced. */
  readonly tracing: Tracing | null;
  /** Closes all of it, and what rooms keep for it (`keptBy`). */
  close(): Promise<void>;
}

interface OpenServicesInput {
  readonly env: Env;
  readonly config: Config;
  /** Name of the process in logs and in the database's list of connections. */
  readonly name: string;
  /** Without one, lines go to the console and to rotating files. */
  readonly log?: Logger;
  /** Keeps the process from being frozen until the work has ended; it never rejects. Unset: nothing freezes it. */
  readonly keepAlive?: Later;
}

/** Connections to the database, unless the environment says otherwise; many functions share one database. */
const usualConnections = 10;
const connectionsOfFunction = 3;

/** Opens what a process needs; connections are made on first use and mend themselves. */
export async function openServices({
  env,
  config,
  name,
  log: given,
  keepAlive = () => undefined,
}: OpenServicesInput): Promise<Services> {
  const databaseUrl = env.DATABASE_URL;
  if (!databaseUrl)
    throw new AppError(
      "internal",
      "DATABASE_URL is not set; the supervisor sets it for the embedded database.",
    );
  const unusable = env.REDIS_URL && !isFunction(env) ? await findUnusableRedis(env.REDIS_URL) : null;
  if (unusable !== null) throw new ConfigError([{ name: "REDIS_URL", message: unusable }]);
  useProxies(env);
  if (!isFunction(env)) closeFolders(env);
  const log = given ?? (await openLog({ env, name }));
  // What a killed process left behind; an installation without a worker has no other sweep.
  await sweepTempFolders(env, tempFolderMs(config)).catch((error: unknown) => {
    log.warn({ err: error }, "old temporary folders could not be removed");
  });
  const onError = logConnectionErrors(log, sentenceOfRefusal);
  const database = openDatabase({
    url: databaseUrl,
    applicationName: `atelier ${name}`,
    maxConnections:
      env.DATABASE_MAX_CONNECTIONS ?? (isFunction(env) ? connectionsOfFunction : usualConnections),
    isPooled: env.DATABASE_POOLER !== undefined,
    onError,
  });
  const tracing = await openTracing(env, { name, log });
  const disk = await openDisk(env);
  const connection = queueConnection(env, databaseUrl);
  const bells = createBells(connection, { onError, isPatient: isFunction(env) });
  const later: Later = (work) =>
    keepAlive(work.catch((err: unknown) => log.error({ err }, "work after an answer failed")));
  const hints = createHints(connection, { onError, later });
  const services: Services = {
    env,
    config,
    log,
    db: database.db,
    disk,
    bells,
    hints,
    later,
    tracing,
    async close() {
      await closeKept(services);
      await Promise.allSettled([bells.close(), hints.close(), tracing?.close()]);
      await closeKept(disk, config, database.db);
      disk.close();
      await database.close();
    },
  };
  return services;
}

import type { Logger as PinoLogger } from "pino";
import { type Db, openDatabase } from "./db/index.ts";
import { AppError, type Config, type Env, type Logger, openLog } from "./platform/index.ts";
import { type Bells, createBells, createHints, type Hints, queueConnection } from "./queue/index.ts";
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
  close(): Promise<void>;
}

interface OpenServicesInput {
  readonly env: Env;
  readonly config: Config;
  /** Name of the process in logs and in the database's list of connections. */
  readonly name: string;
  /** Without one, lines go to the console and to rotating files. */
  readonly log?: Logger;
  readonly maxConnections?: number;
}

/** Opens what a process needs; connections are made on first use and mend themselves (A3). */
export async function openServices({
  env,
  config,
  name,
  log: given,
  maxConnections,
}: OpenServicesInput): Promise<Services> {
  const databaseUrl = env.DATABASE_URL;
  if (!databaseUrl)
    throw new AppError(
      "internal",
      "DATABASE_URL is not set; the supervisor sets it for the embedded database.",
    );
  closeFolders(env);
  const log = given ?? (await openLog({ env, name }));
  // What a killed process left behind; an installation without a worker has no other sweep.
  await sweepTempFolders(env, tempFolderMs(config)).catch((error: unknown) => {
    log.warn({ err: error }, "old temporary folders could not be removed");
  });
  const onError = (error: Error) => log.warn({ err: error }, "connection lost, reconnecting");
  const database = openDatabase({
    url: databaseUrl,
    applicationName: `atelier ${name}`,
    maxConnections: maxConnections ?? 10,
    onError,
  });
  const disk = await openDisk(env);
  const connection = queueConnection(env, databaseUrl);
  const bells = createBells(connection, onError);
  const hints = createHints(connection, onError);
  return {
    env,
    config,
    log,
    db: database.db,
    disk,
    bells,
    hints,
    async close() {
      await Promise.allSettled([bells.close(), hints.close()]);
      disk.close();
      await database.close();
    },
  };
}

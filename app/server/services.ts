import "server-only";
import { keepNodeWatch } from "@atelier/server/nodes";
import { loadConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { ConfigurationError } from "./configuration-error.ts";
import { startFailureLine } from "./start-failure.ts";

declare global {
  /** On globalThis, because hot reload makes this module anew and each copy would open its own connections. */
  var atelierServices: Promise<Services> | undefined;
}

/** What the supervisor sets and a bare `next start` lacks. */
const needed = ["DATABASE_URL", "AUTH_SECRET"] as const;

async function open(): Promise<Services> {
  // Pictures and logs are for this user alone, also below a bare `next start`.
  process.umask(0o077);
  // The one place of the web process that reads the environment, through parseEnv.
  // oxlint-disable-next-line no-restricted-properties
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new ConfigurationError(problems);
  const missing = needed.filter((name) => !env[name]);
  if (missing.length > 0)
    throw new ConfigurationError(missing.map((name) => ({ name, message: "is not set" })));
  const config = await loadConfig(env.ATELIER_CONFIG);
  const services = await openServices({ env, config, name: "web" });
  keepNodeWatch(services);
  return services;
}

/** The services of the web process, opened on first use; a failed try is made again by the next request. */
export function getServices(): Promise<Services> {
  globalThis.atelierServices ??= open().catch((error: unknown) => {
    globalThis.atelierServices = undefined;
    process.stderr.write(startFailureLine(error, new Date()));
    throw error;
  });
  return globalThis.atelierServices;
}

import "server-only";
import { after } from "next/server";
import { withDrainedBody, withVisitor } from "@atelier/server/api";
import { sealSecrets } from "@atelier/server/deliveries";
import { checkStore, isStoreCheckDue, otherStoreReason } from "@atelier/server/images";
import { keepJobLogs } from "@atelier/server/jobs";
import { isFunction, keptBy, lengthHeader, loadConfigOr } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import builtInConfig from "../../atelier.config.ts";
import { ConfigurationError, readWebEnv, startFailureLine, startFailureResponse } from "./start.ts";

declare global {
  /** On globalThis: hot reload evaluates this module again, and each copy would open its own connections. */
  var atelierServices: Promise<Services> | undefined;
}

const jobLogsOf = keptBy(keepJobLogs, (logs) => logs.close());

/** Throws ConfigurationError for the store of another studio; while it is away, requests tell so themselves. */
async function requireOwnStore(services: Services): Promise<void> {
  const state = await checkStore(services).catch(() => "away");
  if (state === "other") throw new ConfigurationError([{ name: "S3_BUCKET", message: otherStoreReason }]);
}

/** Compares the store again beside a request; the next one opens the services anew, and gets the reason. */
function recheckStore(services: Services): void {
  if (!isStoreCheckDue(services)) return;
  const recheck = requireOwnStore(services).catch(() => {
    globalThis.atelierServices = undefined;
    return services.close();
  });
  services.later(recheck.catch(() => undefined));
}

/** Makes the platform wait for the work. Outside of a request, as in a timer, there is no platform to be told. */
function keepAlive(work: Promise<unknown>): void {
  try {
    after(work);
  } catch {
    // The work runs all the same.
  }
}

/**
 * Next ends the process at a signal, once the open requests are answered; it waits only for what a request began, so the wait for the
 * signal is begun with the first one, and each open request waits for its own spans.
 */
function sendLastSpans({ tracing }: Services): void {
  if (tracing === null) return;
  const isEnding = new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, resolve);
  });
  keepAlive(isEnding.then(() => tracing.sendAtOnce(keepAlive)));
}

async function open(): Promise<Services> {
  // Only the owner of the process may read pictures and logs; the supervisor sets this too, a bare `next start` does not.
  process.umask(0o077);
  // The only place in the web process that reads the environment, through parseEnv.
  // oxlint-disable-next-line no-restricted-properties
  const env = readWebEnv(process.env);
  const config = await loadConfigOr(env.ATELIER_CONFIG, builtInConfig);
  const services = await openServices({
    env,
    config,
    name: "web",
    ...(isFunction(env) ? { keepAlive } : {}),
  });
  try {
    await requireOwnStore(services);
  } catch (error) {
    await services.close();
    throw error;
  }
  if (!isFunction(env)) sendLastSpans(services);
  jobLogsOf(services);
  services.later(sealSecrets(services));
  return services;
}

/** The services of the web process, opened on first use; after a failure the next request tries again. */
export function getServices(): Promise<Services> {
  globalThis.atelierServices ??= open().catch((error: unknown) => {
    globalThis.atelierServices = undefined;
    process.stderr.write(startFailureLine(error, new Date()));
    throw error;
  });
  return globalThis.atelierServices;
}

type Answer = (services: Services, request: Request) => Promise<Response> | Response;

/** Content-Security-Policy of answers that a browser may show as a page, such as the API docs: styles and images, no scripts. */
const apiPolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function withPolicy(response: Response): Response {
  const { headers } = response;
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", apiPolicy);
  return response;
}

/** Functions have no front door, and Next leaves out `Content-Length`: there answers are without one. */
function withLength({ env }: Services, response: Response): Response {
  const length = response.headers.get("content-length");
  if (length !== null && !isFunction(env)) response.headers.set(lengthHeader, length);
  return response;
}

/** Makes a Next route handler: opens the services and passes them with the request to `answer`; 503 while they cannot be opened. */
export function withServices(answer: Answer): (request: Request) => Promise<Response> {
  return async (request) => {
    let services: Services;
    try {
      services = await getServices();
      recheckStore(services);
    } catch (error) {
      return withPolicy(startFailureResponse(error));
    }
    const response = await answer(services, withDrainedBody(withVisitor(services.env, request)));
    return withLength(services, withPolicy(response));
  };
}

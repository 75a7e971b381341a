import "server-only";
import { withDrainedBody } from "@atelier/server/api";
import { checkStore, otherStoreReason } from "@atelier/server/images";
import { keepJobLogs } from "@atelier/server/jobs";
import { loadConfig } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { ConfigurationError, readWebEnv, startFailureLine, startFailureResponse } from "./start.ts";

declare global {
  /** On globalThis: hot reload evaluates this module again, and each copy would open its own connections. */
  var atelierServices: Promise<Services> | undefined;
}

/** Throws ConfigurationError, with the services closed, when the image store is not the studio's. */
async function requireOwnStore(services: Services): Promise<void> {
  // Without the database or the store requests tell what is away; the store is compared when both are back.
  const state = await checkStore(services).catch(() => "away");
  if (state === "away")
    setTimeout(
      () => void requireOwnStore(services).catch(forgetServices),
      services.config.timing.probeMs,
    ).unref();
  if (state !== "other") return;
  await services.close();
  throw new ConfigurationError([{ name: "S3_BUCKET", message: otherStoreReason }]);
}

/** Makes the next request open the services again; it gets the reason when they still cannot be used. */
function forgetServices(): void {
  globalThis.atelierServices = undefined;
}

async function open(): Promise<Services> {
  // Only the owner of the process may read pictures and logs; the supervisor sets this too, a bare `next start` does not.
  process.umask(0o077);
  // The only place in the web process that reads the environment, through parseEnv.
  // oxlint-disable-next-line no-restricted-properties
  const env = readWebEnv(process.env);
  const config = await loadConfig(env.ATELIER_CONFIG);
  const services = await openServices({ env, config, name: "web" });
  await requireOwnStore(services);
  keepJobLogs(services);
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

/** Makes a Next route handler: opens the services and passes them with the request to `answer`; 503 while they cannot be opened. */
export function withServices(answer: Answer): (request: Request) => Promise<Response> {
  return async (request) => {
    let services: Services;
    try {
      services = await getServices();
    } catch (error) {
      return withPolicy(startFailureResponse(error));
    }
    return withPolicy(await answer(services, withDrainedBody(request)));
  };
}

import "server-only";
import { withDrainedBody } from "@atelier/server/api";
import { keepNodeWatch } from "@atelier/server/nodes";
import { loadConfig } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { readWebEnv, startFailureLine, startFailureResponse } from "./start.ts";

declare global {
  /** On globalThis: hot reload evaluates this module again, and each copy would open its own connections. */
  var atelierServices: Promise<Services> | undefined;
}

async function open(): Promise<Services> {
  // Pictures and logs are for this user alone, also below a bare `next start`.
  process.umask(0o077);
  // The only access of the web process to the environment.
  // oxlint-disable-next-line no-restricted-properties
  const env = readWebEnv(process.env);
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

type Answer = (services: Services, request: Request) => Promise<Response> | Response;

/** For an answer that a browser shows as a page, such as the API's documentation: styles and pictures, no scripts. */
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

/** A route handler over the services; while they cannot be opened it answers 503. */
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

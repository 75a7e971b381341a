import "server-only";
import { ZodError } from "zod";
import type { Services } from "@atelier/server/services";
import { ConfigurationError, getServices } from "./services.ts";

type Answer = (services: Services, request: Request) => Promise<Response> | Response;

function unavailable(error: unknown): Response {
  const errors =
    error instanceof ConfigurationError
      ? error.problems.map(({ name, message }) => ({ path: name, message }))
      : error instanceof ZodError
        ? error.issues.map(({ path, message }) => ({ path: path.join("."), message }))
        : [];
  const body = {
    type: "about:blank",
    title: "Service Unavailable",
    status: 503,
    detail: "The studio cannot start: its configuration is wrong. Run `atelier doctor` on the server.",
    code: "misconfigured",
    errors,
  };
  return new Response(JSON.stringify(body), {
    status: 503,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
  });
}

/** A route handler over the services; a wrong configuration is answered by 503 with the list of what is wrong. */
export function withServices(answer: Answer): (request: Request) => Promise<Response> {
  return async (request) => {
    let services: Services;
    try {
      services = await getServices();
    } catch (error) {
      return unavailable(error);
    }
    return answer(services, request);
  };
}

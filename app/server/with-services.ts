import "server-only";
import { withDrainedBody } from "@atelier/server/api";
import type { Services } from "@atelier/server/services";
import { getServices } from "./services.ts";
import { startFailureResponse } from "./start-failure.ts";

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

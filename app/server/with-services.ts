import "server-only";
import { withDrainedBody } from "@atelier/server/api";
import type { Services } from "@atelier/server/services";
import { getServices } from "./services.ts";
import { startFailureResponse } from "./start-failure.ts";

type Answer = (services: Services, request: Request) => Promise<Response> | Response;

/** A route handler over the services; while they cannot be opened it answers 503. */
export function withServices(answer: Answer): (request: Request) => Promise<Response> {
  return async (request) => {
    let services: Services;
    try {
      services = await getServices();
    } catch (error) {
      return startFailureResponse(error);
    }
    return answer(services, withDrainedBody(request));
  };
}

import { handleClients } from "@atelier/server/api";
import { withServices } from "../../../server/services.ts";

export const dynamic = "force-dynamic";

/** POST /jobs, which `proxy.ts` sends here because GET /jobs is a page. */
export const POST = withServices((services, request) =>
  handleClients(services, new Request(new URL("/jobs", request.url), request)),
);

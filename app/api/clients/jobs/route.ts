import { handleClients } from "@atelier/server/api";
import { withServices } from "../../../server/services.ts";

export const dynamic = "force-dynamic";

/** POST /jobs, which `proxy.ts` sends here because GET /jobs is a page. */
const handler = withServices((services, request) =>
  handleClients(services, new Request(new URL("/jobs", request.url), request)),
);

export {
  handler as DELETE,
  handler as GET,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};

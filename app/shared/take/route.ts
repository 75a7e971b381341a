import { forMethods } from "@atelier/server/api";
import { withServices } from "../../server/services.ts";

export const dynamic = "force-dynamic";

/** The browser's worker was not there to take the photos. The server takes none: it could not tell who sends them. */
const lost = () => new Response(null, { status: 303, headers: { location: "/shared?lost=early" } });

const handler = withServices(forMethods(["POST"], lost));

export {
  handler as DELETE,
  handler as GET,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};

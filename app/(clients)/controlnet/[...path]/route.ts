import { handleClients } from "@atelier/server/api";
import { withServices } from "../../../server/services.ts";

export const dynamic = "force-dynamic";

const handler = withServices(handleClients);

export {
  handler as DELETE,
  handler as GET,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};

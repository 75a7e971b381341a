import { handleClients } from "@atelier/server/api";
import { withServices } from "../../../../server/services.ts";

export const dynamic = "force-dynamic";

const handler = withServices(handleClients);

export { handler as GET };

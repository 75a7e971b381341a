import { handleHttp } from "@atelier/server/api";
import { withServices } from "../../../server/services.ts";

export const dynamic = "force-dynamic";

const handler = withServices(handleHttp);

export { handler as GET, handler as POST, handler as PUT, handler as PATCH, handler as DELETE };

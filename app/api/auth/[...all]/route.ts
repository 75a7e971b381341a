import { handleAuth } from "@atelier/server/api";
import { withServices } from "../../../server/services.ts";

export const dynamic = "force-dynamic";

const handler = withServices(handleAuth);

export { handler as GET, handler as POST };

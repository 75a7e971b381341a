import { handleTrpc } from "@atelier/server/api";
import { withServices } from "../../../server/services.ts";

export const dynamic = "force-dynamic";

const handler = withServices(handleTrpc);

export { handler as GET, handler as POST };

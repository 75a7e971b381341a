import { authOf } from "@atelier/server/accounts";
import { withServices } from "../../../server/with-services.ts";

export const dynamic = "force-dynamic";

const handler = withServices((services, request) => authOf(services).handler(request));

export { handler as GET, handler as POST };

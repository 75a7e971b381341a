import { handleProviderWebhook } from "@atelier/server/api";
import { withServices } from "../../../../server/services.ts";

export const dynamic = "force-dynamic";

export const POST = withServices(handleProviderWebhook);

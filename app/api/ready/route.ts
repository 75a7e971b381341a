import { readyResponse } from "@atelier/server/api";
import { withServices } from "../../server/services.ts";

export const dynamic = "force-dynamic";

export const GET = withServices(readyResponse);

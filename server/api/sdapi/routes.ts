import { type AppError, toProblem } from "../../platform/index.ts";
import type { ClientApi } from "../clients/route.ts";
import { infoRoutes } from "./info.ts";
import { optionRoutes } from "./options.ts";
import { runRoutes } from "./run.ts";

/** The shape of that server's errors; its programs show `detail`, or `message`. */
function errorResponse(error: AppError): Response {
  const { status, headers } = toProblem(error);
  const detail =
    error.code === "not_agreed"
      ? `${error.message} Allow a price with max_price_usd, the header X-Max-Price-Usd, or behind the model's name: atelier/<model>@0.05.`
      : error.message;
  const wait = headers["retry-after"];
  return Response.json(
    { error: error.code, detail, message: detail, body: "", errors: detail },
    {
      status,
      headers: { "cache-control": "no-store", ...(wait === undefined ? {} : { "retry-after": wait }) },
    },
  );
}

/** The HTTP API of AUTOMATIC1111's web UI, which Forge, SD.Next and KoboldCpp speak as well. */
export const sdapi: ClientApi = {
  routes: [...runRoutes, ...optionRoutes, ...infoRoutes],
  isSwitched: false,
  errorResponse,
};

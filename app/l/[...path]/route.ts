import { getLocale, getTranslations } from "next-intl/server";
import { handleVisit } from "@atelier/server/api";
import { withServices } from "../../server/services.ts";

export const dynamic = "force-dynamic";

/** The pages behind links: of the catalogue they get their own texts, and nothing of the frame. */
const handler = withServices(async (services, request) => {
  const [texts, locale] = await Promise.all([getTranslations("visitor"), getLocale()]);
  return handleVisit(services, request, { texts, locale });
});

export {
  handler as DELETE,
  handler as GET,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};

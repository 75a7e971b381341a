import { getRequestConfig } from "next-intl/server";
import messages from "../messages/en.json" with { type: "json" };

// oxlint-disable-next-line import/no-default-export -- next-intl asks for it
export default getRequestConfig(async () => ({ locale: "en", timeZone: "UTC", messages }));

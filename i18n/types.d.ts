import type { Locale } from "@atelier/server/locales";
import type messages from "../messages/en.json";

declare module "next-intl" {
  interface AppConfig {
    Locale: Locale;
    Messages: typeof messages;
  }
}

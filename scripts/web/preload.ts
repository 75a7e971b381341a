import { installFrontDoor } from "./front-door.ts";

const blank = (text: string | undefined) => text?.trim() || undefined;

installFrontDoor({
  HOST: blank(process.env["HOST"]),
  APP_URL: blank(process.env["APP_URL"]),
  TRUSTED_PROXIES: blank(process.env["TRUSTED_PROXIES"]),
});

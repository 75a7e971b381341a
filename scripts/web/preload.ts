import { installFrontDoor, type TakeUpgrade } from "./front-door.ts";

/** WebSockets of the assistant's clients; what serves them is loaded with the first one. */
const takeUpgrade: TakeUpgrade = (request, socket, head) => {
  if (request.url?.split("?", 1)[0] !== "/api/ws") return false;
  socket.on("error", () => socket.destroy());
  void import("./push.ts").then(({ upgrade }) => upgrade(request, socket, head));
  return true;
};

const blank = (text: string | undefined) => text?.trim() || undefined;

installFrontDoor(
  {
    HOST: blank(process.env["HOST"]),
    APP_URL: blank(process.env["APP_URL"]),
    TRUSTED_PROXIES: blank(process.env["TRUSTED_PROXIES"]),
  },
  takeUpgrade,
);

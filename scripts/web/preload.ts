import { answerRaw, pathOfTarget, pushPath, taskUpdatesPath } from "../../server/platform/upgrades.ts";
import { installFrontDoor, type TakeRequest, type TakeUpgrade } from "./front-door.ts";

/** Where the development tools of Next tell an open page of changes. */
const toolsPath = "/_next/hmr";
const isDevelopment = process.env["NODE_ENV"] === "development";

/**
 * WebSockets of the assistant's clients; what serves them is loaded with the first one. Any other is answered here: Next
 * leaves a socket that it does not know open.
 */
const takeUpgrade: TakeUpgrade = (request, socket, head) => {
  const path = pathOfTarget(request);
  if (isDevelopment && path === toolsPath) return false;
  if (path !== pushPath && !isTaskUpdates(path)) {
    answerRaw(socket, { status: 404 });
    return true;
  }
  socket.on("error", () => socket.destroy());
  import("./push.ts")
    .then(({ upgrade }) => upgrade(request, socket, head))
    .catch(() => answerRaw(socket, { status: 503 }));
  return true;
};

/** As the environment reads it, which is loaded with the first socket. */
const servesOthers = /^(1|true|yes|on|y|enabled)$/i.test(process.env["EXISTING_CLIENTS"]?.trim() ?? "");
const upgradeAdvice = {
  upgrade: "websocket",
  connection: "Upgrade",
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
};
const isTaskUpdates = (path: string) => servesOthers && path === taskUpdatesPath;

/** Long polls, with which a client of socket.io begins; and what came without an upgrade where only sockets are served. */
const takeRequest: TakeRequest = (request, response) => {
  if (pathOfTarget(request) === pushPath) {
    response
      .writeHead(426, upgradeAdvice)
      .end("A WebSocket is opened here. A proxy before the studio must pass Upgrade and Connection on.\n");
    return true;
  }
  if (!isTaskUpdates(pathOfTarget(request))) return false;
  import("./push.ts")
    .then(({ takeTaskRequest }) => takeTaskRequest(request, response))
    .catch(() => response.writeHead(503).end());
  return true;
};

const blank = (text: string | undefined) => text?.trim() || undefined;

installFrontDoor(
  {
    HOST: blank(process.env["HOST"]),
    APP_URL: blank(process.env["APP_URL"]),
    TRUSTED_PROXIES: blank(process.env["TRUSTED_PROXIES"]),
  },
  { takeUpgrade, takeRequest },
);

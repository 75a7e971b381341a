import { existsSync } from "node:fs";

let isGiven = false;

/** Takes what the working folder's `.env` sets and the environment does not. */
export function loadDotEnv(): void {
  isGiven = Boolean(process.env["PORT"]);
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/** Whether the shell sets `PORT`. That of `.env` is only a wish: the running studio may have been started on another port. */
export const isPortGiven = (): boolean => isGiven;

import { existsSync } from "node:fs";

let isGiven = false;

/** Takes what the working folder's `.env` sets and the environment does not. */
export function loadDotEnv(): void {
  isGiven = Boolean(process.env["PORT"]);
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/** Whether who runs the command says a port: `.env` only says on which one the studio starts unless it is told another. */
export const isPortGiven = (): boolean => isGiven;

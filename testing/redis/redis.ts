import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import os from "node:os";
import path from "node:path";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { killAtExit } from "../processes/index.ts";

/** Sends one inline command to a local Redis and resolves with the start of its raw answer. */
function sendCommand(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(`${command}\r\n`));
    socket.once("error", reject);
    socket.once("data", (data) => {
      socket.destroy();
      resolve(data.toString());
    });
  });
}

const readyMs = 60_000;
const saidChars = 2_000;

/** A real redis-server of its own on a free port, with an append-only file as in production. */
export interface TestRedis {
  /** Stays the same over restarts. */
  readonly url: string;
  stop(): Promise<void>;
  /** Starts it again on the same port with the data that it kept. */
  start(): Promise<void>;
  kill9(): Promise<void>;
  flushAll(): Promise<void>;
  /** Kills it; an empty server takes over its address, as when the copy of a primary had not caught up. */
  failOver(): Promise<void>;
  /** Sends one inline command and returns the start of its raw answer. */
  send(command: string): Promise<string>;
  /** Stops it for good and removes its files. */
  destroy(): Promise<void>;
}

function launch(port: number, folder: string, extra: readonly string[]): ChildProcess {
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const persistence = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
  return spawn("redis-server", [...args, ...persistence, ...extra], { stdio: ["ignore", "pipe", "ignore"] });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await ended;
}

async function answersPing(port: number): Promise<boolean> {
  try {
    return /^(\+PONG|-NOAUTH|-MASTERDOWN)/.test(await sendCommand(port, "PING"));
  } catch {
    return false;
  }
}

async function launchReady(port: number, folder: string, extra: readonly string[]): Promise<ChildProcess> {
  const child = launch(port, folder, extra);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-saidChars)));
  killAtExit(child);
  child.once("error", () => undefined); // Shown below as "did not start".
  const isReady = await waitUntil(async () => hasEnded(child) || (await answersPing(port)), readyMs);
  if (!isReady || hasEnded(child)) throw new Error(`redis-server did not start; is it installed?\n${said}`);
  return child;
}

/** Starts one; `extra` are further arguments of redis-server. */
export async function startRedis(extra: readonly string[] = []): Promise<TestRedis> {
  const port = await findFreePort();
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-test-redis-"));
  let child = await launchReady(port, folder, extra);
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: () => end(child, "SIGTERM"),
    start: async () => {
      if (hasEnded(child)) child = await launchReady(port, folder, extra);
    },
    kill9: () => end(child, "SIGKILL"),
    flushAll: async () => {
      await sendCommand(port, "FLUSHALL");
    },
    failOver: async () => {
      await end(child, "SIGKILL");
      for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true });
      child = await launchReady(port, folder, extra);
    },
    send: (command) => sendCommand(port, command),
    destroy: async () => {
      // A replica that has just been filled refuses to end in order, and its primary waits for it.
      await end(child, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

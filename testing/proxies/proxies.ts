import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import os from "node:os";
import path from "node:path";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { ensureCaddy, ensureNginx } from "../../scripts/test/lib.ts";
import { testCertificate } from "../network/index.ts";
import { killAtExit } from "../processes/index.ts";

/** The name in the shipped files. */
export const proxiedName = "atelier.example.org";

export interface Proxy {
  readonly port: number;
  destroy(): Promise<void>;
}

interface Paths {
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
}

interface Ports {
  readonly port: number;
  readonly plainPort: number;
  readonly studioPort: number;
}

/** A file as it is shipped; every text that is replaced must stand in it. */
function fill(file: string, replacements: readonly (readonly [string, string])[]): string {
  let text = readFileSync(path.join(import.meta.dirname, "../../deploy/proxy", file), "utf8");
  for (const [shipped, own] of replacements) {
    if (!text.includes(shipped)) throw new Error(`${file} does not hold ${shipped}`);
    text = text.replaceAll(shipped, own);
  }
  return text;
}

/** The shipped file in the frame that Debian's `nginx.conf` gives it; only ports and certificate are others. */
function nginxFile({ folder, cert, key }: Paths, { port, plainPort, studioPort }: Ports): string {
  const site = fill("nginx.conf", [
    ["server 127.0.0.1:3000;", `server 127.0.0.1:${studioPort};`],
    ["listen 80;", `listen 127.0.0.1:${plainPort};`],
    ["listen 443 ssl", `listen 127.0.0.1:${port} ssl`],
    ["/etc/letsencrypt/live/atelier.example.org/fullchain.pem", cert],
    ["/etc/letsencrypt/live/atelier.example.org/privkey.pem", key],
  ]);
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return [
    "daemon off;",
    ...(process.getuid?.() === 0 ? ["user root;"] : []),
    `pid ${folder}/pid;`,
    "error_log stderr warn;",
    "events {}",
    `http { gzip on; access_log off; ${temp.join(" ")}`,
    `${site}}`,
  ].join("\n");
}

function caddyFile({ cert, key }: Paths, { port, studioPort }: Ports): string {
  const site = fill("Caddyfile", [
    [
      "\natelier.example.org {",
      `\nhttps://atelier.example.org:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`,
    ],
    ["reverse_proxy 127.0.0.1:3000", `reverse_proxy 127.0.0.1:${studioPort}`],
  ]);
  return `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`;
}

const servers = {
  nginx: {
    ensure: ensureNginx,
    file: nginxFile,
    args: (folder: string) => ["-e", "stderr", "-p", folder, "-c", path.join(folder, "config")],
  },
  caddy: {
    ensure: ensureCaddy,
    file: caddyFile,
    args: (folder: string) => ["run", "--adapter", "caddyfile", "--config", path.join(folder, "config")],
  },
} as const;

function launch(program: string, args: readonly string[], folder: string) {
  // Caddy keeps what it knows below HOME.
  const child = spawn(program, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: folder },
  });
  killAtExit(child);
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => (text += part));
  return { child, output: () => text };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false)).once("connect", () => socket.destroy());
  });
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** A real nginx or Caddy with the shipped file, in front of a studio. The studio's APP_URL is https://<proxiedName>:<port>. */
export async function startProxy(
  kind: keyof typeof servers,
  { port, studioPort }: Pick<Ports, "port" | "studioPort">,
): Promise<Proxy> {
  const { ensure, file, args } = servers[kind];
  if (!ensure()) throw new Error(`${kind} is not installed`);
  const folder = mkdtempSync(path.join(os.tmpdir(), `atelier-test-${kind}-`));
  const paths = { folder, cert: path.join(folder, "cert.pem"), key: path.join(folder, "key.pem") };
  writeFileSync(paths.cert, testCertificate.cert);
  writeFileSync(paths.key, testCertificate.key);
  const ports = { port, studioPort, plainPort: await findFreePort() };
  writeFileSync(path.join(folder, "config"), file(paths, ports));
  const { child, output } = launch(kind, args(folder), folder);
  const isUp = await waitUntil(async () => hasEnded(child) || (await answers(port)), 10_000);
  if (!isUp || hasEnded(child)) throw new Error(`${kind} did not start:\n${output()}`);
  return {
    port,
    async destroy() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      if (!hasEnded(child)) await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { CreateBucketCommand, PutBucketCorsCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { ensureS3Server, s3Program } from "../../scripts/test/pip-files.ts";
import { killAtExit } from "../processes/index.ts";

const credentials = { accessKeyId: "studio", secretAccessKey: "a-secret-for-tests-0123456789" };
const region = "us-east-1";
const bucket = "atelier";
/** It starts in one to seven seconds, later on a busy machine. */
const readyMs = 60_000;

/** The names of the environment that lead to a bucket. */
export interface S3Env {
  readonly S3_ENDPOINT: string;
  readonly S3_REGION: string;
  readonly S3_BUCKET: string;
  readonly S3_ACCESS_KEY_ID: string;
  readonly S3_SECRET_ACCESS_KEY: string;
}

/** A SeaweedFS server, which speaks S3, with one private bucket. Its ports are free ones of this machine. */
export interface TestS3 {
  readonly env: S3Env;
  /** Makes another private bucket and returns its name. */
  addBucket(): Promise<string>;
  /** Ends it without warning; what it acknowledged is there after `start`. */
  kill9(): Promise<void>;
  /** Starts it again on the same ports with the data that it kept. */
  start(): Promise<void>;
  /** Lets pages of this origin send objects to the bucket. */
  allowOrigin(origin: string): Promise<void>;
  /** Stops it for good and removes its files. */
  destroy(): Promise<void>;
}

type Ports = readonly number[];

function argsOf(folder: string, ports: Ports): string[] {
  const [s3, s3Grpc, master, masterGrpc, volume, volumeGrpc, filer, filerGrpc, admin, adminGrpc] = ports;
  const options = {
    dir: folder,
    ip: "127.0.0.1",
    "ip.bind": "127.0.0.1",
    "master.port": master,
    "master.port.grpc": masterGrpc,
    "master.telemetry": false,
    "volume.port": volume,
    "volume.port.grpc": volumeGrpc,
    "volume.preStopSeconds": 0,
    "filer.port": filer,
    "filer.port.grpc": filerGrpc,
    "filer.localSocket": path.join(folder, "filer.sock"),
    "filer.disableDirListing": true,
    "filer.exposeDirectoryData": false,
    "s3.port": s3,
    "s3.port.grpc": s3Grpc,
    "s3.port.iceberg": 0,
    "s3.port.lance": 0,
    "s3.iam": false,
    "s3.localSocket": path.join(folder, "s3.sock"),
    "s3.config": path.join(folder, "identities.json"),
    "s3.autoCreateBucket": false,
    "admin.port": admin,
    "admin.port.grpc": adminGrpc,
    "admin.ui": false,
    webdav: false,
  };
  return ["mini", ...Object.entries(options).map(([name, value]) => `-${name}=${value}`)];
}

async function chooseFolder(): Promise<{ folder: string; ports: Ports }> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-test-s3-"));
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = credentials;
  const identity = { name: "studio", credentials: [{ accessKey, secretKey }], actions: ["Admin"] };
  writeFileSync(path.join(folder, "identities.json"), JSON.stringify({ identities: [identity] }));
  const ports = await Promise.all(Array.from({ length: 10 }, () => findFreePort()));
  return { folder, ports };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  // It takes half a minute to stop in order, and keeps everything that it acknowledged without that.
  child.kill("SIGKILL");
  await ended;
}

function removeFiles(folder: string, ports: Ports): void {
  rmSync(folder, { recursive: true, force: true });
  const sockets = readdirSync(os.tmpdir()).filter((name) => /^seaweedfs-.*-grpc-\d+\.sock$/.test(name));
  for (const name of sockets)
    if (ports.some((port) => name.endsWith(`-grpc-${port}.sock`)))
      rmSync(path.join(os.tmpdir(), name), { force: true });
}

/** An open port is not enough: it answers before it can store. */
async function isReady(client: S3Client): Promise<boolean> {
  const options = { abortSignal: AbortSignal.timeout(5_000) };
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }), options).catch(ignoreExisting);
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: "ready", Body: "ready" }), options);
    return true;
  } catch {
    return false;
  }
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error) || !error.name.startsWith("BucketAlready")) throw error;
}

async function launch(folder: string, ports: Ports, client: S3Client): Promise<ChildProcess> {
  let output = "";
  // It leaves log files where the system has its temporary ones, and takes a variable such as DEBUG for its flag of that name.
  const env = { NODE_ENV: "test", PATH: process.env["PATH"], HOME: folder, TMPDIR: folder } as const;
  const child = spawn(s3Program, argsOf(folder, ports), { env, stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-4_000)));
  child.once("error", (error) => (output += error.message));
  killAtExit(child);
  const hasEnded = () => child.exitCode !== null || child.pid === undefined;
  const ready = await waitUntil(async () => hasEnded() || (await isReady(client)), readyMs);
  if (ready && !hasEnded()) return child;
  child.kill("SIGKILL");
  throw new Error(`the S3 server did not start:\n${output}`);
}

/** Starts a server with an empty bucket. */
export async function startS3(): Promise<TestS3> {
  // The test command has installed it; a single test file that is run by hand may be the first.
  if (!ensureS3Server()) throw new Error("SeaweedFS is not installed");
  const { folder, ports } = await chooseFolder();
  const endpoint = `http://127.0.0.1:${ports[0]}`;
  const client = new S3Client({
    endpoint,
    region,
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: "WHEN_REQUIRED",
  });
  let child = await launch(folder, ports, client);
  return {
    env: {
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    async addBucket() {
      const name = `atelier-${randomUUID()}`;
      await client.send(new CreateBucketCommand({ Bucket: name }));
      return name;
    },
    kill9: () => kill(child),
    start: async () => {
      child = await launch(folder, ports, client);
    },
    async allowOrigin(origin) {
      const rule = {
        AllowedOrigins: [origin],
        AllowedMethods: ["PUT", "GET"],
        AllowedHeaders: ["content-type", "x-amz-checksum-sha256"],
      };
      const CORSConfiguration = { CORSRules: [rule] };
      await client.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration }));
    },
    async destroy() {
      await kill(child);
      client.destroy();
      removeFiles(folder, ports);
    },
  };
}

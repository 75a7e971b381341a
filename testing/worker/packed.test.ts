// @module-tag all
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { schema } from "@atelier/server/db";
import { submit } from "@atelier/server/jobs";
import { startComfySimulator } from "@atelier/testing/comfyui";
import { addOwner, readJob, until } from "@atelier/testing/jobs";
import { killAtExit } from "@atelier/testing/processes";
import { createTestServices } from "@atelier/testing/services";
import { inspectEnv } from "@atelier/server/platform";
import { eq } from "drizzle-orm";
import { parse } from "yaml";
import { expect, onTestFinished, test, vi } from "vitest";
import { parseFlags } from "../../worker/args.ts";
import { processEnv } from "./start-test-worker.ts";

const root = path.join(import.meta.dirname, "../..");

test(
  "S8 the packed worker starts without the repository, does a job of a server and ends by SIGTERM",
  { timeout: 300_000 },
  async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-packed-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const packing = spawnSync(process.execPath, [path.join(root, "scripts/pack-worker.ts"), folder], {
      encoding: "utf8",
    });
    expect([packing.status, packing.stdout + packing.stderr]).toEqual([0, expect.any(String)]);

    const opened = await createTestServices();
    onTestFinished(() => opened.close());
    const { services } = opened;
    const comfy = await startComfySimulator();
    onTestFinished(() => comfy.close());
    // With its own node and configuration; of the environment nothing but the connections.
    const { NODE_COMPILE_CACHE: _cache, ATELIER_CONFIG: _config, PATH: _path, ...env } = processEnv(services);
    const child = spawn(path.join(folder, "node_modules/.bin/node"), ["worker/main.ts"], {
      cwd: folder,
      env: { ...env, WORKER_NAME: "packed", COMFYUI_URLS: comfy.url, LOG_LEVEL: "info" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    killAtExit(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const readNode = async () =>
      (await services.db.select().from(schema.nodes).where(eq(schema.nodes.name, "packed")))[0];
    await vi.waitFor(async () => expect(await readNode()).toMatchObject({ state: "active" }), 60_000);
    const { userId } = await addOwner(services);
    const request = { kind: "text_to_image", params: { prompt: "a cup" } } as const;
    const { id } = await vi.waitFor(
      () => submit(services, request, { submitter: { userId, isGuest: false } }),
      { timeout: 60_000, interval: 500 },
    );
    await until(services, id, "completed").catch((error: unknown) => {
      throw new Error(output, { cause: error });
    });
    expect(await readJob(services, id)).toMatchObject({ engine: "comfyui", charged: 0 });
    child.kill("SIGTERM");
    expect([await ended, output]).toEqual([0, expect.stringContaining("worker stopped")]);
    expect(await readNode()).toMatchObject({ state: "gone", processed: 1 });
  },
);

test("S8 what cloud-init starts is in the packed folder, and the worker takes its flags", () => {
  const text = readFileSync(path.join(root, "deploy/cloud-init/worker.yaml"), "utf8");
  const config: { write_files: readonly { path: string; content: string }[]; runcmd: readonly string[] } =
    parse(text);
  const unit = config.write_files.find((file) => file.path.endsWith("atelier-worker.service"))?.content ?? "";
  const [, command = "", flags = ""] = /^ExecStart=(\S+ \S+)(.*)$/m.exec(unit) ?? [];
  expect(command).toBe("/opt/atelier-worker/node_modules/.bin/node worker/main.ts");
  const [, once = ""] = /add (--once.*) above/.exec(unit) ?? [];
  for (const given of [flags, once]) expect(parseFlags(given.split(" ").filter(Boolean)).problem).toBeNull();
  const settings = config.write_files.find((file) => file.path.endsWith(".env"))?.content ?? "";
  const { problems } = inspectEnv(
    Object.fromEntries(
      settings
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/)),
    ),
  );
  expect(problems.map(({ name }) => name)).toEqual([]);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createBench, sample } from "./fixtures/run-bench.ts";

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("local engine", () => {
  const warnings: object[] = [];
  let bench: Awaited<ReturnType<typeof createBench>>;
  let large: string;
  let small: string;

  beforeAll(async () => {
    bench = await createBench({ childMaxRuns: 3, log: { warn: (fields) => warnings.push(fields) } });
    large = path.join(bench.dir, "large.png");
    small = path.join(bench.dir, "small.png");
    await sharp(sample("astronaut.png")).resize(990, 990).toFile(large);
    await sharp(sample("astronaut.png")).resize(48, 48).toFile(small);
  });
  afterAll(() => bench.close());

  it("D6: ends a running job at once when it is aborted, with the signal's reason", async () => {
    const abort = new AbortController();
    const reason = new Error("cancelled by its owner");
    let abortedAt = 0;
    const run = bench.run(
      "upscale",
      { image: large },
      {
        signal: abort.signal,
        onProgress(_fraction, stage) {
          if (stage !== "tile" || abortedAt) return;
          abortedAt = performance.now();
          abort.abort(reason);
        },
      },
    );
    await expect(run).rejects.toBe(reason);
    expect(performance.now() - abortedAt).toBeLessThan(1_000);
    expect((await bench.run("upscale", { image: small })).fractions.at(-1)).toBe(1);
  });

  it("refuses to start when the signal is aborted already", async () => {
    const reason = new Error("too late");
    await expect(bench.run("upscale", { image: small }, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
  });

  it("carries an AppError of the child over with code, message and details", async () => {
    const wide = path.join(bench.dir, "wide.png");
    await sharp({ create: { width: 16_001, height: 1_000, channels: 3, background: "#888" } }).toFile(wide);
    await expect(bench.run("upscale", { image: wide })).rejects.toMatchObject({
      tag: "AppError",
      code: "output_too_large",
      details: { outputPixels: 64_004_000 },
    });
  });

  it("says no_engine for a kind it does not make", async () => {
    await expect(bench.run("text_to_image", {})).rejects.toMatchObject({ code: "no_engine" });
  });

  it("reports a child that dies in mid-run as engine_crashed", async () => {
    const { forkChild } = await import("./engine-child.ts");
    const child = forkChild();
    const run = child.run(
      {
        task: { jobId: "x", kind: "upscale", params: {}, inputs: { image: large }, workDir: bench.dir },
        modelsDir: fileURLToPath(new URL("./models/", import.meta.url)),
      },
      {
        signal: new AbortController().signal,
        onProgress: (_fraction, stage) =>
          void (stage === "tile" && process.kill(Number(child.pid), "SIGKILL")),
        onPreview: () => {},
      },
    );
    await expect(run).rejects.toMatchObject({ code: "engine_crashed", details: { signal: "SIGKILL" } });
  });

  it("reports anything unforeseen in the child as engine_failed", async () => {
    const broken = await createBench({ modelsDir: bench.dir });
    await expect(broken.run("upscale", { image: small })).rejects.toMatchObject({ code: "engine_failed" });
    await broken.close();
  });

  it("reuses a warm child: later runs need no start and no model", async () => {
    const warm = await createBench();
    const timed = async () => {
      const startedAt = performance.now();
      await warm.run("upscale", { image: small });
      return performance.now() - startedAt;
    };
    const first = await timed();
    const second = await timed();
    expect(second).toBeLessThan(first * 0.8);
    await warm.close();
  });

  it("D9: a child whose parent was killed ends within 3 s, in the middle of a run", async () => {
    const script = fileURLToPath(new URL("./fixtures/orphan-parent.ts", import.meta.url));
    const parent = spawn(process.execPath, [script, large, bench.dir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const childPid = Number(String(line).trim());
    expect(isAlive(childPid)).toBe(true);
    parent.kill("SIGKILL");
    const killedAt = performance.now();
    await vi.waitFor(() => expect(isAlive(childPid)).toBe(false), { timeout: 5_000, interval: 50 });
    expect(performance.now() - killedAt).toBeLessThan(3_000);
  });
});

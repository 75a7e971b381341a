import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { type EngineChild, forkChild } from "./engine-child.ts";
import { createChildPool } from "./engine.ts";
import { bareTask } from "./fixtures/bare-task.ts";
import { createBench, sample } from "./fixtures/run-bench.ts";

describe("child pool", () => {
  function createPool({ maxRuns = 20, idleMs = 60_000 } = {}) {
    const forked: EngineChild[] = [];
    const fork = () => {
      const child = forkChild();
      forked.push(child);
      return child;
    };
    return { forked, pool: createChildPool({ fork, maxRuns, idleMs }) };
  }

  const isGone = (child: EngineChild) => {
    try {
      process.kill(Number(child.pid), 0);
      return false;
    } catch {
      return true;
    }
  };

  describe("child pool", () => {
    it("hands the idle child out again, and another one while it is busy", async () => {
      const { forked, pool } = createPool();
      const first = pool.take();
      const second = pool.take();
      expect(second).not.toBe(first);
      pool.giveBack(first);
      pool.giveBack(second);
      expect(pool.take()).toBe(first);
      await vi.waitFor(() => expect(isGone(second)).toBe(true));
      await pool.close();
      expect(forked.every(isGone)).toBe(true);
    });

    it("replaces a child after its share of runs", async () => {
      const { pool } = createPool({ maxRuns: 2 });
      const child = pool.take();
      child.runCount = 1;
      pool.giveBack(child);
      expect(pool.take()).toBe(child);
      child.runCount = 2;
      pool.giveBack(child);
      expect(pool.take()).not.toBe(child);
      await vi.waitFor(() => expect(isGone(child)).toBe(true));
      await pool.close();
    });

    it("ends a child that nobody used for a while, not one that was taken again", async () => {
      const { pool } = createPool({ idleMs: 100 });
      const { pool: witness } = createPool({ idleMs: 100 });
      const [child, unused] = [pool.take(), witness.take()];
      pool.giveBack(child);
      expect(pool.take()).toBe(child);
      // Rests later and for as long: when it is gone, the child's time would be over too.
      witness.giveBack(unused);
      await vi.waitFor(() => expect(isGone(unused)).toBe(true), { timeout: 5_000 });
      expect(isGone(child)).toBe(false);
      pool.giveBack(child);
      await vi.waitFor(() => expect(isGone(child)).toBe(true), { timeout: 5_000 });
      await Promise.all([pool.close(), witness.close()]);
    });

    it("passes over an idle child that died by itself", async () => {
      const { pool } = createPool();
      const child = pool.take();
      pool.giveBack(child);
      process.kill(Number(child.pid), "SIGKILL");
      await vi.waitFor(() => expect(child.isAlive()).toBe(false));
      expect(pool.take()).not.toBe(child);
      await pool.close();
    });
  });
});

describe("engine", () => {
  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  function countStarts() {
    const starts: EngineChild[] = [];
    const fork = () => {
      const child = forkChild();
      starts.push(child);
      return child;
    };
    return { starts, fork };
  }

  describe("local engine", () => {
    const warnings: object[] = [];
    let bench: Awaited<ReturnType<typeof createBench>>;
    let large: string;
    let small: string;
    let wide: string;

    beforeAll(async () => {
      bench = await createBench({ childMaxRuns: 3, log: { warn: (fields) => warnings.push(fields) } });
      large = path.join(bench.dir, "large.png");
      small = path.join(bench.dir, "small.png");
      await sharp(sample("astronaut.png")).resize(990, 990).toFile(large);
      await sharp(sample("astronaut.png")).resize(48, 48).toFile(small);
      wide = path.join(bench.dir, "wide.png");
      await sharp({ create: { width: 16_001, height: 1_000, channels: 3, background: "#888" } }).toFile(wide);
    });
    afterAll(() => bench.close());

    it("D6: ends a running job at once when it is aborted, with the signal's reason", async () => {
      const abort = new AbortController();
      const reason = new Error("cancelled by its owner");
      // Not measured: a rejection at once is seen before a timer that is over, however long the machine stands still.
      let isLate = false;
      const run = bench.run(
        "upscale",
        { image: large },
        {
          signal: abort.signal,
          onProgress(_fraction, stage) {
            if (stage !== "tile" || abort.signal.aborted) return;
            setTimeout(() => (isLate = true), 1_000).unref();
            abort.abort(reason);
          },
        },
      );
      await expect(run).rejects.toBe(reason);
      expect(isLate).toBe(false);
      expect((await bench.run("upscale", { image: small })).fractions.at(-1)).toBe(1);
    });

    it("refuses to start when the signal is aborted already", async () => {
      const reason = new Error("too late");
      await expect(
        bench.run("upscale", { image: small }, { signal: AbortSignal.abort(reason) }),
      ).rejects.toBe(reason);
    });

    it("carries an AppError of the child over with code, message and details", async () => {
      await expect(bench.run("upscale", { image: wide })).rejects.toMatchObject({
        tag: "AppError",
        code: "output_too_large",
        details: { outputPixels: 64_004_000 },
      });
    });

    it("says no_engine for a kind it does not make", async () => {
      await expect(bench.run("text_to_image", {})).rejects.toMatchObject({ code: "no_engine" });
    });

    it("a run tells nobody of itself: the library of the models opens no reports about it", async () => {
      // What its reporter begins with, in the temporary folder of a process without TMPDIR.
      const logs: string[] = [];
      const fork = () => {
        const child = forkChild();
        const file = `/tmp/mat-debug-${child.pid}.log`;
        // Of another program that once had this number; the child itself loads the library later.
        rmSync(file, { force: true });
        logs.push(file);
        return child;
      };
      const watched = await createBench({ fork });
      await watched.run("upscale", { image: small }, { params: { scale: 2 } });
      await watched.close();
      expect(logs).toHaveLength(1);
      expect(logs.filter((file) => existsSync(file))).toEqual([]);
    });

    it("reports a child that dies in mid-run as engine_crashed", async () => {
      const child = forkChild();
      const run = child.run(
        {
          task: { ...bareTask("upscale"), params: {}, inputs: { image: large }, workDir: bench.dir },
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

    it(
      "D8: a child that failed is ended, since what it left behind would spoil the next runs",
      inAll,
      async () => {
        const { starts, fork } = countStarts();
        const broken = await createBench({ modelsDir: bench.dir, fork });
        for (let run = 1; run <= 2; run += 1) {
          await expect(broken.run("upscale", { image: small })).rejects.toMatchObject({
            code: "engine_failed",
          });
          expect(starts).toHaveLength(run);
        }
        await vi.waitFor(() => expect(starts.map((child) => child.isAlive())).toEqual([false, false]));
        await broken.close();
      },
    );

    it("reuses a warm child, also after a picture that it refused", async () => {
      const { starts, fork } = countStarts();
      const warm = await createBench({ fork });
      await warm.run("upscale", { image: small });
      await expect(warm.run("upscale", { image: wide })).rejects.toMatchObject({ code: "output_too_large" });
      await warm.run("upscale", { image: small });
      expect(starts.map((child) => child.runCount)).toEqual([3]);
      await warm.close();
    });

    it("F30 a full disk is not the engine's fault, and the child goes on", async () => {
      const workDir = path.join(bench.dir, "full-disk");
      await mkdir(workDir);
      await symlink("/dev/full", path.join(workDir, "result.png"));
      const context = {
        signal: new AbortController().signal,
        onBegin: () => undefined,
        onProgress: () => undefined,
        onPreview: () => undefined,
        onSubmitting: () => Promise.resolve(),
        takeServer: () => Promise.resolve(null),
      };
      const task = { ...bareTask("upscale"), params: {}, inputs: { image: small }, workDir };
      await expect(bench.engine.run(task, context)).rejects.toMatchObject({ code: "storage_unavailable" });
      await bench.run("upscale", { image: small });
    });

    it("D9: a child whose parent was killed ends within 3 s, in the middle of a run", inAll, async () => {
      const script = fileURLToPath(new URL("./fixtures/orphan-parent.ts", import.meta.url));
      const parent = spawn(process.execPath, [script, large, bench.dir], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const childPid = Number(String(line).trim());
      expect(isAlive(childPid)).toBe(true);
      parent.kill("SIGKILL");
      // Looks in a row, not the clock: a machine that stands still holds up the child as well.
      for (let looks = 0; looks < 3_000 / 50 && isAlive(childPid); looks += 1) await sleep(50);
      expect(isAlive(childPid)).toBe(false);
    });
  });
});

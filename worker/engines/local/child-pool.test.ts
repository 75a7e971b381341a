import { describe, expect, it, vi } from "vitest";
import { createChildPool } from "./child-pool.ts";
import { forkChild, type EngineChild } from "./engine-child.ts";

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

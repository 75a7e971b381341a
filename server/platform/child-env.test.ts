import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

const script = `
  const { childEnv } = await import(${JSON.stringify(path.join(import.meta.dirname, "child-env.ts"))});
  console.log(JSON.stringify(childEnv()));`;

/** What a process with this environment gives its children. */
function envOfChild(env: NodeJS.ProcessEnv): Record<string, string> {
  const args = ["--input-type=module", "--eval", script];
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: "utf8" }));
}

test("a child gets no secret, and compiled code where its parent has it", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-child-env-"));
  const bare = {
    NODE_ENV: "production",
    ORT_DISABLE_TELEMETRY: "1",
    VIPS_BLOCK_UNTRUSTED: "1",
    VIPS_DISC_THRESHOLD: "300m",
  };
  try {
    const env = { NODE_ENV: "test", AUTH_SECRET: "secret", DATABASE_URL: "postgres://a:b@c/d" } as const;
    expect(envOfChild({ ...env, NODE_COMPILE_CACHE: folder })).toEqual({
      ...bare,
      NODE_COMPILE_CACHE: folder,
    });
    expect(envOfChild(env)).toEqual(bare);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

import { startComfySimulator } from "@atelier/testing/comfyui";
import { serveAnswers } from "@atelier/testing/http";
import { findProgram, runNode } from "@atelier/testing/processes";
import { createTestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import { expect, test } from "vitest";

const canary = "canary-0123456789-secret";

interface Finding {
  readonly name: string;
  readonly state: string;
  readonly message: string;
}

test("everything connected is tried, what is wrong is quoted without a secret, and the exit code says whether all works", async () => {
  const [opened, comfyui, page] = await Promise.all([
    createTestServices(),
    startComfySimulator({ models: {}, guard: { headers: { authorization: `Bearer ${canary}` } } }),
    serveAnswers(({ path: at }) => ({
      status: 403,
      type: "text/html",
      body: `<title>Sign in to see ${at} ${canary}</title>`,
    })),
  ]);
  const env = {
    ...processEnv(opened.services),
    COMFYUI_URLS: `${comfyui.url},${page.url}?token=${canary}`,
    SERVER_HEADERS: JSON.stringify({ [comfyui.url]: { Authorization: `Bearer ${canary}` } }),
  };
  const doctor = async (more: Readonly<Record<string, string>>, ...flags: string[]) => {
    const main = await findProgram("cli/main.ts");
    const run = runNode([...main, "doctor", ...flags], { ...env, ...more });
    return { code: await run.ended, output: run.output() };
  };
  const [told, fine, without, misused] = await Promise.all([
    doctor({}, "--json"),
    doctor({ COMFYUI_URLS: comfyui.url }),
    doctor({ COMFYUI_URLS: "", APP_URL: "http://127.0.0.1:9" }),
    doctor({}, "--jsn"),
  ]);
  await Promise.all([opened.close(), comfyui.close(), page.close()]);

  expect(told.code).toBe(1);
  expect(told.output).not.toContain(canary);
  const { ok, checks } = JSON.parse(told.output) as { ok: boolean; checks: Finding[] };
  expect(ok).toBe(false);
  const starting = (name: string) => checks.filter((check) => check.name.startsWith(name));
  const host = (url: string) => new URL(url).host;
  expect(starting(`ComfyUI ${host(page.url)}`)).toMatchObject([
    {
      state: "fail",
      message: expect.stringMatching(
        /“a web page: Sign in to see \/system_stats\?token=\[secret\] \[secret\]”/,
      ),
    },
  ]);
  // A server without models runs nothing that needs one, and says what is missing for each.
  const ofServer = starting(`ComfyUI ${host(comfyui.url)}`);
  expect(ofServer[0]).toMatchObject({ message: expect.stringMatching(/runs/) });
  expect(ofServer.slice(1).map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^cannot run \d+ of the workflows that ship .*\.safetensors/),
  );
  expect(starting("Database rights")).toMatchObject([{ state: "ok" }]);
  expect(starting("Clock")).toMatchObject([{ state: "ok" }]);
  expect(starting("Telegram bot")).toMatchObject([{ state: "not tried" }]);

  expect([fine.code, fine.output]).toEqual([0, expect.stringMatching(/Everything that was tried works\./)]);
  // No page answers there, which is a warning: not everything works.
  expect(without.code).toBe(0);
  expect(without.output).toMatch(/^– {5}ComfyUI, IOPaint +COMFYUI_URLS and IOPAINT_URLS are not set/m);
  expect(without.output).toMatch(/\nNothing failed; look at \d+ of \d+ lines \(warn\)\.\n/);
  expect(misused.code).toBe(1);
}, 60_000);

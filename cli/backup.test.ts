import { mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { addOwner } from "@atelier/testing/jobs";
import { findProgram, killAtExit, runNode, type NodeRun } from "@atelier/testing/processes";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forCasesInTurn } from "@atelier/testing/cases";
import { checkStore } from "@atelier/server/images";
import { waitUntil } from "../scripts/process/tools.ts";

let fixture: TestServices;
let folder: string;
let main: readonly string[];

beforeAll(async () => {
  fixture = await createTestServices();
  main = await findProgram("cli/main.ts");
  await addOwner(fixture.services);
  await checkStore(fixture.services);
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-cli-backup-"));
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true, force: true });
});

function atelier(...args: string[]): NodeRun {
  const run = runNode([...main, ...args], processEnv(fixture.services));
  killAtExit(run.child);
  return run;
}

test("A16 a backup is made and checked on the command line; a studio with users is refused in one sentence", async () => {
  const to = path.join(folder, "whole");
  const made = atelier("backup", "--to", to);
  expect([await made.ended, made.output()]).toEqual([
    0,
    expect.stringMatching(/^Done: \d+ rows and 3 files of pictures/),
  ]);
  const checked = atelier("restore", "--from", to, "--check");
  expect([await checked.ended, checked.output()]).toEqual([
    0,
    expect.stringMatching(/is whole: 3 files of pictures\.\n$/),
  ]);
  const refused = atelier("restore", "--from", to);
  expect([await refused.ended, refused.output()]).toEqual([
    1,
    expect.stringMatching(/^Processes of the studio are connected to the database\. Stop them first\.\n$/),
  ]);
});

forCasesInTurn(
  "A16 $signal in the middle of a backup leaves nothing that looks whole",
  {
    usual: [{ signal: "SIGKILL", code: null, left: ["SIGKILL.part"] }],
    others: [{ signal: "SIGINT", code: 130, left: [] }],
  } as const,
  async ({ signal, code, left }) => {
    const client = new pg.Client({ connectionString: fixture.services.env.DATABASE_URL });
    await client.connect();
    try {
      // The backup waits for this lock when it comes to the jobs.
      await client.query("begin; lock table jobs in access exclusive mode");
      const run = atelier("backup", "--to", path.join(folder, signal));
      const isWaiting = async () => {
        const { rows } = await client.query(
          `select from pg_locks join pg_database on pg_database.oid = database and datname = current_database()
           where not granted and relation = 'jobs'::regclass`,
        );
        return rows.length > 0;
      };
      expect(await waitUntil(isWaiting, 90_000)).toBe(true);
      expect(await readdir(folder)).toContain(`${signal}.part`);
      run.child.kill(signal);
      expect(await run.ended).toBe(code);
    } finally {
      await client.end();
    }
    expect((await readdir(folder)).filter((name) => name.startsWith(signal))).toEqual(left);
    const from = path.join(folder, `${signal}.part`);
    const refused = atelier("restore", "--from", from, "--check");
    expect([await refused.ended, refused.output()]).toEqual([1, expect.stringContaining("is no backup")]);
  },
);

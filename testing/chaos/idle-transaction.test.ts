import { sql } from "drizzle-orm";
import pg from "pg";
import { expect, test } from "vitest";
import { withSnapshot } from "@atelier/server/db";
import { submit } from "@atelier/server/jobs";
import { realTimeMs } from "../cases/index.ts";
import { untilAll } from "../jobs/index.ts";
import { openScene } from "./scene.ts";

const limitMs = 500;

test(
  "F19 a foreign session that idles in a transaction is ended by the database, and what waited for its locks goes on",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend: "postgres" });
    const { services, owner } = scene;
    const { DATABASE_URL: url = "" } = services.env;
    const name = new URL(url).pathname.slice(1);
    await services.db.execute(
      sql.raw(`alter database ${name} set idle_in_transaction_session_timeout = '${limitMs}ms'`),
    );
    await scene.startWorker();
    const foreign = new pg.Client({ connectionString: url });
    // The driver reports the end of the connection as a second error.
    const ended = new Promise<unknown>((resolve) => foreign.on("error", resolve));
    await foreign.connect();
    // In one message: between two the session may idle for longer than it may.
    await foreign.query("begin isolation level repeatable read; lock table jobs in share row exclusive mode");
    const request = { kind: "upscale", inputs: { image: owner.imageId } };
    const accepted = submit(services, request, { submitter: owner });
    // 25P03: idle_in_transaction_session_timeout.
    expect(await ended).toMatchObject({ code: "25P03" });
    const { id } = await accepted;
    await untilAll(services, [id], { statuses: ["completed"] });
    // The product's own sessions keep their own limits, and a backup has a longer one.
    const read = "select current_setting('idle_in_transaction_session_timeout') as idle";
    const { signal } = new AbortController();
    expect(await services.db.execute(sql.raw(read))).toEqual([{ idle: "15s" }]);
    expect(await withSnapshot({ url, signal, run: (snapshot) => snapshot.read(read) })).toEqual([
      { idle: "15min" },
    ]);
    expect(await scene.faults()).toEqual([]);
  },
);

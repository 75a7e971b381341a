import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { createEmptyDatabase, type TestDatabase } from "./index.ts";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withLoad, withSnapshot } from "@atelier/server/db";

const kib = 1024;
const never = new AbortController().signal;

/** Bytes of a table in the text format of COPY: rows of one length, the last one longer. */
interface Shape {
  readonly name: string;
  readonly rowBytes: number;
  readonly totalBytes: number;
}

const step = (1_024 * kib - 64 * kib) / 19;
const shapes: Shape[] = [
  ...Array.from({ length: 20 }, (_, at) => ({
    name: `size_${at}`,
    rowBytes: 600 + at,
    totalBytes: Math.round(64 * kib + at * step),
  })),
  ...[1, 2, 3, 4, 16].flatMap((times) =>
    [-6, -5, -1, 0, 1, 5].map((off, at) => ({
      name: `near_${times}_${at}`,
      rowBytes: 97,
      totalBytes: times * 64 * kib + off,
    })),
  ),
  ...[2, 7, 333, 8_191, 65_535, 65_536, 65_537, 200_000, 524_288].map((rowBytes) => ({
    name: `row_${rowBytes}`,
    rowBytes,
    totalBytes: Math.max(3 * rowBytes, 128 * kib),
  })),
  { name: "none", rowBytes: 1, totalBytes: 0 },
];

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createEmptyDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const { name, rowBytes, totalBytes } of shapes) {
    const rows = Math.floor(totalBytes / rowBytes);
    const rest = totalBytes - rows * rowBytes;
    await client.query(`create table ${name} as select repeat('x', ${rowBytes - 1} +
      case when i = ${rows} then ${rest} else 0 end) as t from generate_series(1, ${rows}) i`);
    await client.query(`create table ${name}_again (like ${name})`);
  }
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

interface Read {
  readonly sizeBytes: number;
  readonly sha256: string;
}

async function readAll(rows: Readable): Promise<Read & { readonly bytes: Buffer }> {
  const bytes = Buffer.concat(await rows.toArray());
  return { bytes, sizeBytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

test("A16 tables of every size are read to their end, one after the other, and filled in as they were", async () => {
  const read = await withSnapshot({
    url: database.url,
    signal: never,
    async run(snapshot) {
      const found = [];
      for (const { name } of shapes) {
        const { written, rows } = await snapshot.copyOut({ name, columns: ["t"] }, readAll);
        const [counted] = await snapshot.read<{ count: string }>(`select count(*) from ${name}`);
        found.push({ name, rows, counted: Number(counted?.count), ...written });
      }
      return found;
    },
  });
  for (const [at, { name, totalBytes }] of shapes.entries())
    expect({ ...read[at], bytes: null, sha256: "" }).toEqual({
      name,
      rows: read[at]?.counted,
      counted: read[at]?.counted,
      sizeBytes: totalBytes,
      bytes: null,
      sha256: "",
    });
  const again = await withLoad({
    url: database.url,
    signal: never,
    async run(load) {
      const filled: number[] = [];
      for (const { name, bytes } of read)
        filled.push(await load.copyIn({ name: `${name}_again`, columns: ["t"] }, Readable.from([bytes])));
      return filled;
    },
  });
  expect(again).toEqual(read.map(({ counted }) => counted));
  const { rows } = await client.query(`select t from near_4_3_again except all select t from near_4_3`);
  expect(rows).toEqual([]);
});

test("A16 rows that do not fit, an unreadable file and an abort end a transaction at once", async () => {
  const load = (rows: Readable, signal = never) =>
    withLoad({
      url: database.url,
      signal,
      run: (into) => into.copyIn({ name: "none_again", columns: ["t"] }, rows),
    });
  await expect(load(Readable.from(["a\tb\n"]))).rejects.toThrow(/extra data/);
  const many = Readable.from(
    (function* () {
      for (let at = 0; ; at += 1) yield `${"x".repeat(60_000)}${at === 20 ? "\tb" : ""}\n`;
    })(),
  );
  await expect(load(many)).rejects.toThrow(/extra data|Premature close|EPIPE/);
  const broken = new Readable({
    read() {
      this.destroy(new Error("the file is broken"));
    },
  });
  await expect(load(broken)).rejects.toThrow(/the file is broken/);
  const stop = new AbortController();
  const silent = new Readable({ read: () => setImmediate(() => stop.abort(new Error("enough"))) });
  await expect(load(silent, stop.signal)).rejects.toThrow(/enough/);
  const ended = new AbortController();
  const slow = withSnapshot({
    url: database.url,
    signal: ended.signal,
    run: async (snapshot) => {
      setImmediate(() => ended.abort(new Error("enough")));
      return snapshot.read("select pg_sleep(60)");
    },
  });
  await expect(slow).rejects.toThrow(/enough/);
  const { rows } = await client.query("select count(*)::int as count from none_again");
  expect(rows).toEqual([{ count: 0 }]);
});

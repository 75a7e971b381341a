import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { migrate } from "@atelier/server/db";
import pg from "pg";
import { expect, test } from "vitest";
import { createEmptyDatabase } from "./servers.ts";

const root = path.join(import.meta.dirname, "../..");

/** In the order in which they could be created. */
const objects = {
  tables: `
    select c.oid::regclass::text as name, (
      select json_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
        || case when a.attidentity <> '' then ' generated as identity'
          when a.attgenerated = 's' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
          when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end
        || case when a.attnotnull then ' not null' else '' end order by a.attnum)
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    ) as columns, (
      select json_agg(format('constraint %I %s', conname, pg_get_constraintdef(oid, true)) order by contype = 'p' desc, contype, conname)
      from pg_constraint where conrelid = c.oid and contype not in ('n', 't')
    ) as constraints, (
      select json_agg(pg_get_indexdef(indexrelid, 0, true) order by indexrelid::regclass::text collate "C")
      from pg_index where indrelid = c.oid and not exists (select from pg_constraint where conindid = indexrelid)
    ) as indexes, (
      select json_agg(pg_get_triggerdef(oid, true) order by tgname) from pg_trigger where tgrelid = c.oid and not tgisinternal
    ) as triggers
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname collate "C"`,
  others: `
    select case relkind when 'S' then 'sequence' when 'v' then 'view' else 'relation of kind ' || relkind::text end || ' ' || relname as name
    from pg_class where relnamespace = 'public'::regnamespace and relkind not in ('r', 'i')
    union all
    select 'type ' || typname from pg_type where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')
    order by 1`,
  functions: `
    select proname as name, pg_get_functiondef(p.oid) as text,
      format('%s(%s) returns %s', proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) as head
    from pg_proc p where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    order by proname collate "C", head`,
} as const;

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly constraints: readonly string[] | null;
  readonly indexes: readonly string[] | null;
  readonly triggers: readonly string[] | null;
}

function describeTable({ name, columns, constraints, indexes, triggers }: Table): string {
  const lines = [...columns, ...(constraints ?? [])].map((line) => `  ${line}`);
  const create = `create table ${name} (\n${lines.join(",\n")}\n);`;
  return [create, ...[...(indexes ?? []), ...(triggers ?? [])].map((line) => `${line};`)].join("\n");
}

interface SqlFunction {
  readonly name: string;
  readonly text: string;
  readonly head: string;
}

const bodies = "server/db/functions";
const bodiesByFile = new Map(
  readdirSync(path.join(root, bodies)).map((file) => [
    `${bodies}/${file}`,
    readFileSync(path.join(root, bodies, file), "utf8"),
  ]),
);

/** The head alone of a function that has its body in a file. */
function describeFunction({ name, text, head }: SqlFunction): string {
  const found = [...bodiesByFile].find(([, body]) => body.includes(`create or replace function ${name}(`));
  return found ? `-- ${head}: ${found[0]}` : `${text.trim()};`;
}

const title = `-- The schema that the migrations make, read from the catalog of a database. Do not edit it: vitest -u of the test
-- testing/postgres/schema.test.ts writes it anew.`;

async function readSchema(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<Table>(objects.tables);
    const others = await client.query<{ name: string }>(objects.others);
    const functions = await client.query<SqlFunction>(objects.functions);
    return `${[
      title,
      ...tables.rows.map(describeTable),
      others.rows.map(({ name }) => `-- ${name}`).join("\n"),
      ...functions.rows.map(describeFunction),
    ].join("\n\n")}\n`;
  } finally {
    await client.end();
  }
}

test("drizzle/schema.sql is the schema of a database; `vitest run testing/postgres/schema.test.ts -u` renews it", async () => {
  const database = await createEmptyDatabase();
  await migrate(database.url);
  const schema = await readSchema(database.url);
  await database.drop();
  await expect(schema).toMatchFileSnapshot(path.join(root, "drizzle/schema.sql"));
});

test("drizzle-kit's snapshots are one, of the last migration: `pnpm db:generate` drops those before it", () => {
  const folder = path.join(root, "drizzle/migrations");
  const last = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted()
    .at(-1);
  const meta = readdirSync(path.join(folder, "meta")).toSorted();
  expect(meta).toEqual([`${last?.slice(0, 4)}_snapshot.json`, "_journal.json"]);
});

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

export const databaseName = "atelier";
/** Superuser, created with the cluster by `initdb`. Only the set-up of the embedded server logs in as this role. */
export const superuser = "atelier";
/** Owner of the database without rights on the server: SQL of the product can neither run programs nor read files. */
export const productUser = "atelier_app";

/** The password is base64url, so it needs no escapes. */
function roleWith(password: string): string {
  return `${productUser} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '${password}'`;
}

const ownDatabase = `ALTER DATABASE ${databaseName} OWNER TO ${productUser}`;

/** Statements for a new cluster, after the database was created. */
export function newRoleStatements(password: string): string[] {
  return [`CREATE ROLE ${roleWith(password)}`, ownDatabase];
}

function markOf(clusterDir: string): string {
  return path.join(clusterDir, "atelier-role");
}

function digest(password: string): string {
  return createHash("sha256").update(password).digest("hex");
}

/** Records in the cluster that its product role is complete and has this password. */
export function markRole(clusterDir: string, password: string): void {
  writeFileSync(markOf(clusterDir), digest(password), { mode: 0o600 });
}

/** Whether the product role of the cluster is complete and has this password. */
export function isMarked(clusterDir: string, password: string): boolean {
  try {
    return readFileSync(markOf(clusterDir), "utf8") === digest(password);
  } catch {
    return false;
  }
}

/** One statement for each database object that the superuser owns, except the objects of PostgreSQL itself. */
const ownerStatements = `
  WITH mine AS (SELECT oid FROM pg_roles WHERE rolname = '${superuser}'),
  own_schema AS (
    SELECT oid, nspname, nspowner FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
  ),
  -- Indexes and sequences of columns follow their table; members stay with their extension.
  dependent AS (SELECT classid, objid FROM pg_depend WHERE deptype IN ('a', 'i', 'e')),
  objects AS (
    SELECT 'SCHEMA' AS kind, quote_ident(nspname) AS name FROM own_schema WHERE nspowner = (SELECT oid FROM mine)
    UNION ALL
    SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
      WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, c.oid::regclass::text
    FROM pg_class c JOIN own_schema s ON s.oid = c.relnamespace
    WHERE c.relowner = (SELECT oid FROM mine) AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND NOT EXISTS (SELECT FROM dependent d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid)
    UNION ALL
    SELECT 'ROUTINE', p.oid::regprocedure::text
    FROM pg_proc p JOIN own_schema s ON s.oid = p.pronamespace
    WHERE p.proowner = (SELECT oid FROM mine)
      AND NOT EXISTS (SELECT FROM dependent d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid)
    UNION ALL
    SELECT 'TYPE', t.oid::regtype::text
    FROM pg_type t JOIN own_schema s ON s.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
    WHERE t.typowner = (SELECT oid FROM mine) AND (t.typtype IN ('e', 'd', 'r') OR c.relkind = 'c')
  )
  SELECT format('ALTER %s %s OWNER TO ${productUser}', kind, name) AS statement FROM objects`;

const sessionOptions = [
  // Names must resolve to objects of PostgreSQL, never to objects of the product.
  "search_path=pg_catalog",
  // Longer than any transaction of the product.
  "lock_timeout=20s",
  // The password must not be logged.
  "log_min_error_statement=panic",
];

/**
 * Creates the product's role in a cluster of an earlier version, where the product used the superuser, or sets a new
 * password. Each statement commits by itself, so that a running earlier version is blocked only briefly; after a crash
 * the next start repeats all of them.
 */
export async function ensureProductRole(
  clusterDir: string,
  { superuserUrl, password }: { readonly superuserUrl: string; readonly password: string },
): Promise<void> {
  if (isMarked(clusterDir, password)) return;
  // Loaded only here: the driver would cost each supervisor 9 MB permanently.
  const { default: pg } = await import("pg");
  const options = sessionOptions.map((option) => `-c ${option}`).join(" ");
  const client = new pg.Client({ connectionString: superuserUrl, options });
  await client.connect();
  try {
    const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [productUser]);
    await client.query(`${rowCount === 0 ? "CREATE" : "ALTER"} ROLE ${roleWith(password)}`);
    await client.query(ownDatabase);
    const { rows } = await client.query<{ statement: string }>(ownerStatements);
    for (const { statement } of rows) await client.query(statement);
  } finally {
    await client.end();
  }
  markRole(clusterDir, password);
}

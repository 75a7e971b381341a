import { type CheckResult, failed, passed, reasonOf, warned } from "./checks.ts";
import { loadSessionLimits, type Pooled, withClient } from "./database.ts";
import type { SeenClock } from "./other-side.ts";

/** Whether the role limits single statements: through a pooler the product can limit those of transactions only. */
export async function checkRoleLimit(url: string, pooled: Pooled): Promise<CheckResult> {
  const name = "DATABASE_POOLER";
  const read = "SELECT current_setting('statement_timeout') AS text, quote_ident(current_user) AS role";
  try {
    const { text, role } = await withClient(
      url,
      async (client) => (await client.query(read)).rows[0],
      pooled,
    );
    if (text !== "0") return passed(name, `statements end after ${text}`);
    const { statement_timeout: limitMs } = await loadSessionLimits();
    const message = `a single statement may run for ever; ALTER ROLE ${role} SET statement_timeout = '${limitMs}ms'`;
    return { ...passed(name, message), isWarning: true };
  } catch (error) {
    return failed(name, `could not be tried: ${reasonOf(error)}`);
  }
}

const readOnlyAdvice =
  "it takes no writes (default_transaction_read_only is on), as hosts set it when the disk is full; make room there, or switch it off";

/** Some of the studio's tables for all of them: other programs may have tables of other roles beside them. */
const ours =
  "SELECT * FROM pg_class WHERE oid IN (to_regclass('public.users'), to_regclass('public.images'), to_regclass('public.jobs'))";

const rightsQuery = `SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database,
  has_schema_privilege('public', 'CREATE') AS "mayCreate", pg_is_in_recovery() AS "isCopy",
  current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  has_database_privilege(current_database(), 'CREATE') AS "mayAddSchemas",
  (SELECT quote_ident(rolname) FROM pg_roles WHERE oid = (
    SELECT relowner FROM (${ours}) AS ours WHERE NOT pg_has_role(relowner, 'USAGE') LIMIT 1)) AS owner,
  NOT EXISTS (SELECT FROM (${ours}) AS ours WHERE NOT (
    has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
    AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))) AS "mayWrite",
  (SELECT installed_version FROM pg_available_extensions WHERE name = 'vector') AS installed,
  EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS "isThere",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"`;

interface Rights {
  readonly role: string;
  readonly database: string;
  readonly isCopy: boolean;
  readonly isReadOnly: boolean;
  readonly mayCreate: boolean;
  readonly mayAddSchemas: boolean;
  /** Another role that owns tables; null when all are this one's, or there is none yet. */
  readonly owner: string | null;
  readonly mayWrite: boolean;
}

const rightsName = "Database rights";

/** Not the role of the owner, which may be an admin of the server. */
function grantsFor(role: string): string {
  const rights = ["USAGE ON", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN", "USAGE ON ALL SEQUENCES IN"];
  return rights.map((right) => `GRANT ${right} SCHEMA public, drizzle, bullmq TO ${role}`).join("; ");
}

/** Why this role cannot do all that the studio needs; null when it can. */
function refusalOf(row: Rights): CheckResult | null {
  const { role, database, owner } = row;
  if (row.isCopy) return failed(rightsName, "it is a copy that takes no writes; name the primary");
  if (row.isReadOnly) return failed(rightsName, readOnlyAdvice);
  if (owner !== null && !row.mayWrite)
    return failed(rightsName, `${role} may not write to tables of ${owner}; ${grantsFor(role)}`);
  if (owner !== null)
    return warned(
      rightsName,
      `${role} may write, but the tables belong to ${owner}: new versions change them only where DATABASE_DIRECT_URL names that role`,
    );
  if (!row.mayCreate)
    return failed(rightsName, `${role} may make no tables; GRANT CREATE ON SCHEMA public TO ${role}`);
  if (!row.mayAddSchemas)
    return failed(rightsName, `${role} may make no schemas; GRANT CREATE ON DATABASE ${database} TO ${role}`);
  return null;
}

/** What the role may do, which extension helps the search, and what time it is there. */
export async function checkRights(url: string, clocks: SeenClock[]): Promise<CheckResult[]> {
  const name = rightsName;
  try {
    const startedAt = Date.now();
    const row = await withClient(url, async (client) => (await client.query(rightsQuery)).rows[0]);
    clocks.push({ side: "the database", aheadMs: row.nowMs - (startedAt + Date.now()) / 2 });
    const refusal = refusalOf(row);
    if (refusal) return [refusal];
    const without = row.isThere ? "pgvector is there, but not created" : "pgvector is not there";
    const vector = row.installed
      ? `pgvector ${row.installed}`
      : `${without}: the search by meaning keeps its vectors in memory`;
    return [passed(name, `${row.role} may write and make tables; ${vector}`)];
  } catch (error) {
    return [failed(name, `could not be read: ${reasonOf(error)}`)];
  }
}

import { sql } from "drizzle-orm";
import { schema, type Db } from "../db/index.ts";
import { builtInWorkflows, parseWorkflow, type Workflow } from "../workflows/index.ts";

interface Published {
  readonly readAtMs: number;
  readonly workflows: readonly Workflow[];
}

const believedForMs = 2_000;
const publishedByDb = new WeakMap<object, Published>();
const parsedByHash = new Map<string, Workflow>();

/**
 * Built-in workflows and those that nodes of the last 24 hours published, as known up to two seconds ago; read again when
 * the wanted name is not among them. Not for use inside a transaction: it would take a second connection.
 */
export async function knownWorkflows(db: Db, wanted?: string): Promise<readonly Workflow[]> {
  const known = publishedByDb.get(db);
  const isFresh = known !== undefined && performance.now() - known.readAtMs < believedForMs;
  const isThere = wanted === undefined || known?.workflows.some(({ name }) => name === wanted);
  if (known && isFresh && isThere) return known.workflows;
  const published = await readPublished(db);
  const own = new Set(published.map((workflow) => workflow.name));
  const workflows = [...published, ...builtInWorkflows.filter(({ name }) => !own.has(name))];
  publishedByDb.set(db, { readAtMs: performance.now(), workflows });
  return workflows;
}

/** The workflow of that name as the newest node published it, else the built-in one. */
export async function findWorkflow(db: Db, name: string): Promise<Workflow | null> {
  return (await knownWorkflows(db, name)).find((workflow) => workflow.name === name) ?? null;
}

async function readPublished(db: Db): Promise<Workflow[]> {
  const { nodes, nodeWorkflows } = schema;
  const result = await db.execute<{ name: string; hash: string; manifest: unknown; graph: unknown }>(sql`
    select distinct on (w.name) w.name, w.hash, w.manifest, w.graph
    from ${nodeWorkflows} w join ${nodes} n on n.id = w.node_id
    where n.state in ('active', 'draining') or n.seen_at > now() - interval '24 hours'
    order by w.name, n.started_at desc`);
  return result.rows.map((row) => {
    const parsed = parsedByHash.get(`${row.name} ${row.hash}`);
    if (parsed) return parsed;
    const { name, manifest, graph } = row;
    const workflow = parseWorkflow({ name, manifest, graph, isBuiltIn: false });
    parsedByHash.set(`${name} ${row.hash}`, workflow);
    return workflow;
  });
}

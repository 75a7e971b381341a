import { AppError, keptBy } from "../platform/index.ts";
import { sql, type SQL } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { isActive, isPresent } from "../nodes/index.ts";
import {
  builtInWorkflows,
  type ParamName,
  parseWorkflow,
  readGraphInput,
  type Workflow,
} from "../workflows/index.ts";
import { currentWords } from "../words.ts";
import { knows, type Queues, startableNeeds } from "./on-demand.ts";
import { livePlaces } from "./places.ts";

interface Published {
  readonly readAtMs: number;
  /** All of them, also those that are off. */
  readonly all: readonly Workflow[];
  readonly workflows: readonly Workflow[];
  /** When a name was last searched without success. */
  readonly missedAtMs: Map<string, number>;
}

const believedForMs = 2_000;
const maxMissed = 1_000;
const publishedOf = keptBy((_db: Db): { last: Published | null } => ({ last: null }));
/** Parsed workflows of the last read by name and hash; null for those that this process cannot parse. */
let parsedByKey: ReadonlyMap<string, Workflow | null> = new Map();

/**
 * Built-in workflows and those published by nodes of the last 24 hours, at most two seconds old, without those that are off
 * until an admin accepts their licence. When `wanted` is missing they are read again, at most once in that time. Do not call
 * it inside a transaction: it takes a connection.
 */
export async function knownWorkflows(db: Db, wanted?: string): Promise<readonly Workflow[]> {
  return (await readKnown(db, wanted)).workflows;
}

async function readKnown(db: Db, wanted?: string): Promise<Published> {
  const kept = publishedOf(db);
  const known = kept.last;
  if (known && isFresh(known.readAtMs) && answers(known, wanted)) return known;
  const [published, accepted] = await Promise.all([readPublished(db), acceptedLicences(db)]);
  const own = new Set(published.map((workflow) => workflow.name));
  const all = [...published, ...builtInWorkflows().filter(({ name }) => !own.has(name))];
  const workflows = all.filter((workflow) => !isOff(workflow, accepted));
  const missedAtMs = new Map([...(known?.missedAtMs ?? [])].filter(([, atMs]) => isFresh(atMs)));
  const isMissed = wanted !== undefined && !all.some(({ name }) => name === wanted);
  if (isMissed && missedAtMs.size < maxMissed) missedAtMs.set(wanted, performance.now());
  kept.last = { readAtMs: performance.now(), all, workflows, missedAtMs };
  return kept.last;
}

/** The licences that an admin accepted for the studio. */
async function acceptedLicences(db: Db): Promise<ReadonlySet<string>> {
  const [row] = await db.select({ names: schema.studio.acceptedLicences }).from(schema.studio);
  return new Set(row?.names);
}

function isOff({ licence }: Workflow, accepted: ReadonlySet<string>): boolean {
  return licence?.mustBeAccepted === true && !accepted.has(licence.name);
}

/**
 * Accepts a licence for the studio, or takes that back; runs that began go on. Other processes know within two seconds.
 * Throws `not_found` when no workflow has such a licence that must be accepted.
 */
export async function decideLicence(
  db: Db,
  { name, isAccepted }: { readonly name: string; readonly isAccepted: boolean },
): Promise<void> {
  const { all } = await readKnown(db);
  if (!all.some(({ licence }) => licence?.mustBeAccepted === true && licence.name === name))
    throw new AppError("not_found", `No workflow has the licence "${name}" that must be accepted.`);
  const { studio } = schema;
  const without = sql`array_remove(${studio.acceptedLicences}, ${name}::text)`;
  await db
    .insert(studio)
    .values({ acceptedLicences: isAccepted ? [name] : [] })
    .onConflictDoUpdate({
      target: studio.id,
      set: { acceptedLicences: isAccepted ? sql`array_append(${without}, ${name}::text)` : without },
    });
  publishedOf(db).last = null;
}

/** The workflow of that name that the newest node published, else the built-in one; also one that is off: a job that has it goes on. */
export async function findWorkflow(db: Db, name: string): Promise<Workflow | null> {
  return (await readKnown(db, name)).all.find((workflow) => workflow.name === name) ?? null;
}

function isFresh(atMs: number): boolean {
  return performance.now() - atMs < believedForMs;
}

function answers({ all, missedAtMs }: Published, wanted: string | undefined): boolean {
  if (wanted === undefined || all.some(({ name }) => name === wanted)) return true;
  return isFresh(missedAtMs.get(wanted) ?? -Infinity);
}

interface Head extends Record<string, unknown> {
  readonly nodeId: string;
  readonly name: string;
  readonly hash: string;
}

const keyOf = ({ name, hash }: Head) => `${name} ${hash}`;

/** Reads only graphs that were not parsed before, since graphs are large. */
async function readPublished(db: Db): Promise<Workflow[]> {
  const { nodes, nodeWorkflows } = schema;
  const heads = await db.execute<Head>(sql`
    select distinct on (w.name) w.node_id as "nodeId", w.name, w.hash
    from ${nodeWorkflows} w join ${nodes} n on n.id = w.node_id
    where ${isPresent()} or n.seen_at > now() - interval '24 hours' or ${knows(sql`'comfyui/' || w.name`)}
    order by w.name, n.started_at desc`);
  const unknown = heads.filter((head) => !parsedByKey.has(keyOf(head)));
  const parsed = new Map([...parsedByKey, ...(await parseAll(db, unknown))]);
  // Keep only what is published now.
  const current = new Set(heads.map(keyOf));
  parsedByKey = new Map([...parsed].filter(([key]) => current.has(key)));
  return heads.flatMap((head) => parsed.get(keyOf(head)) ?? []);
}

async function parseAll(db: Db, heads: readonly Head[]): Promise<[string, Workflow | null][]> {
  if (heads.length === 0) return [];
  const wanted = heads.map(({ nodeId, name }): SQL => sql`(${nodeId}::uuid, ${name})`);
  const result = await db.execute<Head & { manifest: unknown; graph: unknown }>(sql`
    select node_id as "nodeId", name, hash, manifest, graph from ${schema.nodeWorkflows}
    where (node_id, name) in (${sql.join(wanted, sql`, `)})`);
  return result.map((row) => [keyOf(row), parse(row)]);
}

/** Null for a workflow that this version cannot parse; the others stay usable. */
function parse({ name, manifest, graph }: { name: string; manifest: unknown; graph: unknown }) {
  try {
    return parseWorkflow({ name, manifest, graph, isBuiltIn: false });
  } catch {
    return null;
  }
}

/** By workflow name: what is missing on the live server that lacks the least. */
async function readLacks(db: Db | Tx): Promise<ReadonlyMap<string, readonly string[]>> {
  const { engineServers, nodes } = schema;
  const result = await db.execute<{ name: string; lacks: string[] }>(sql`
    select distinct on (m.key) m.key as name, m.value as lacks
    from ${engineServers} s join ${nodes} n on n.id = s.node_id, jsonb_each(s.missing) m
    where ${isActive()} and s.state in ('healthy', 'degraded')
    order by m.key, jsonb_array_length(m.value)`);
  return new Map(result.map(({ name, lacks }) => [name, lacks]));
}

/** What the live servers lack for these workflows, each server with the one that lacks the least. */
export async function readServerLacks(db: Db | Tx, names: readonly string[]): Promise<ServerLack[]> {
  const { engineServers, nodes } = schema;
  if (names.length === 0) return [];
  return db.execute<ServerLack & Record<string, unknown>>(sql`
    select distinct on (s.label) s.label, m.key as workflow, m.value as lacks
    from ${engineServers} s join ${nodes} n on n.id = s.node_id, jsonb_each(s.missing) m
    where ${isActive()} and s.state in ('healthy', 'degraded') and m.key in ${names}
    order by s.label, jsonb_array_length(m.value), m.key`);
}

/** What one server lacks for one workflow. */
export interface ServerLack {
  readonly label: string;
  readonly workflow: string;
  readonly lacks: readonly string[];
}

/** The allowed values of a param; a number has a range or choices. */
export interface OfferedParam {
  readonly type: "text" | "integer" | "number" | "seed" | "points" | "box" | "loras" | "listed";
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly multipleOf?: number | undefined;
  readonly default?: string | number | undefined;
  readonly required?: boolean;
  readonly choices?: Readonly<Record<string, string | number>> | undefined;
}

/** A workflow, or a model of a provider, that users can choose. */
export interface OfferedWorkflow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: JobKind;
  /** Lower ranks are preferred within the kind. */
  readonly rank: number;
  readonly vramGib: number;
  /** Whether a live node can run it now, or one that is started for it. */
  readonly isLive: boolean;
  /** What is missing on the server that lacks the least; empty when it is live or without servers. */
  readonly missing: readonly string[];
  readonly params: Partial<Record<ParamName, OfferedParam>>;
  readonly inputs: readonly { readonly role: string; readonly required: boolean }[];
  /** Its model files, as its graph names them; empty for a model of a provider. */
  readonly models: readonly string[];
  /** Set for a model of a provider, whose `name` is its need. The price is in US dollars; null when unknown. */
  readonly cloud: {
    readonly model: string;
    readonly provider: string;
    readonly priceUsd: number | null;
  } | null;
}

/** All known workflows, live ones first, then by rank. One that is off is not live, whatever the servers have. */
export async function offeredWorkflows(db: Db, config: Queues): Promise<OfferedWorkflow[]> {
  const [known, live, startable, lacks] = await Promise.all([
    readKnown(db),
    livePlaces(db),
    startableNeeds(db, config),
    readLacks(db),
  ]);
  const liveNeeds = new Set<string>([...live.map(({ need }) => need), ...startable]);
  const usable = new Set(known.workflows);
  return known.all
    .map((workflow) => {
      const isLive = usable.has(workflow) && liveNeeds.has(`comfyui/${workflow.name}`);
      const unaccepted = usable.has(workflow)
        ? []
        : [`an admin's consent to its licence (${workflow.licence?.name ?? ""})`];
      const missing = [...unaccepted, ...(lacks.get(workflow.name) ?? [])];
      return { ...describe(workflow), isLive, missing: isLive ? [] : missing };
    })
    .toSorted((a, b) => Number(b.isLive) - Number(a.isLive) || a.rank - b.rank);
}

/** What admins see of each workflow. */
interface WorkflowFacts extends Pick<
  OfferedWorkflow,
  "name" | "title" | "kind" | "vramGib" | "isLive" | "missing"
> {
  /** Null for workflows of one's own that do not say it. */
  readonly sizeGb: number | null;
  readonly licence: {
    readonly name: string;
    readonly isCommercial: boolean;
    /** Null where nobody has to. */
    readonly isAccepted: boolean | null;
  } | null;
}

/** Every workflow with its licence, by kind and rank. */
export async function workflowFacts(db: Db, config: Queues): Promise<WorkflowFacts[]> {
  const [offered, { all, workflows }] = await Promise.all([offeredWorkflows(db, config), readKnown(db)]);
  const facts = new Map(all.map((workflow) => [workflow.name, workflow]));
  return offered
    .toSorted((a, b) => a.kind.localeCompare(b.kind) || a.rank - b.rank)
    .map(({ name, title, kind, vramGib, isLive, missing }) => {
      const { licence, sizeGb = null } = facts.get(name) ?? {};
      const isUsable = workflows.some((usable) => usable.name === name);
      const told = licence && {
        name: licence.name,
        isCommercial: licence.isCommercial,
        isAccepted: licence.mustBeAccepted ? isUsable : null,
      };
      return { name, title, kind, vramGib, isLive, missing, sizeGb, licence: told ?? null };
    });
}

/** Title and description: those of an included workflow in the language of whoever reads them. */
function textsOf({ name, title, description, isBuiltIn }: Workflow) {
  const { t } = currentWords();
  // Safe cast: that there are texts of this name is asked below.
  const key = `shippedWorkflows.${name as "t2i_sdxl"}` as const;
  if (!isBuiltIn || !t.has(`${key}.title`)) return { title, description };
  // How the prompt of one of them names further pictures.
  const names = { second: "<image2>", fourth: "<image4>" };
  return { title: t(`${key}.title`), description: t(`${key}.description`, names) };
}

function describe(workflow: Workflow): Omit<OfferedWorkflow, "isLive" | "missing"> {
  const { name, kind, rank, vramGib } = workflow;
  const params = Object.entries(workflow.params).map(([param, { to, ...spec }]) => {
    const own = spec.type === "listed" ? readGraphInput(workflow.graph, to[0] ?? "") : undefined;
    const isUsual = spec.type === "listed" && !spec.required && typeof own === "string";
    return [param, isUsual ? { ...spec, default: own } : spec] as const;
  });
  const inputs = Object.entries(workflow.inputs).map(([role, { required }]) => ({ role, required }));
  return {
    name,
    ...textsOf(workflow),
    kind,
    rank,
    vramGib,
    params: Object.fromEntries(params),
    inputs,
    models: workflow.models.map(({ file }) => file),
    cloud: null,
  };
}

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import type { EngineName, JobKind, Need } from "../../engines.ts";
import { users } from "./accounts.ts";

const at = (name: string) => timestamp(name, { withTimezone: true });

export type NodeState = "active" | "draining" | "lost" | "gone";

export interface Gpu {
  readonly name: string;
  readonly vramBytes: number;
}

export interface NodeCapability {
  readonly cores: number;
  readonly memoryBytes: number;
  /** Graphics cards of the machine itself; the cards of its servers are in `engine_servers`. */
  readonly gpus: readonly Gpu[];
  readonly kinds: readonly JobKind[];
  readonly engines: readonly EngineName[];
  /** Image providers that the node holds a key of. */
  readonly providers?: readonly string[];
  /** Those keys, each by its hash. */
  readonly providerKeys?: readonly { readonly provider: string; readonly keyId: string }[];
}

/** Settings of a node that an admin may change while it runs; a missing entry keeps the node's own value. */
export interface NodeSettings {
  readonly slots?: Readonly<Record<string, number>>;
  readonly kinds?: readonly JobKind[];
}

/** A workflow or setting of the operator that the node refused, and why. */
export interface NodeProblem {
  readonly what: string;
  readonly reason: string;
}

/** One process of a worker. Settings are stored by its name; a restarted worker has a new row. */
export const nodes = pgTable(
  "nodes",
  {
    id: uuid("id").primaryKey(),
    name: text("name").notNull(),
    hostname: text("hostname").notNull(),
    /** Boot id of the host, pid and start time of the process: identify the process, also between hosts. */
    bootId: text("boot_id").notNull(),
    pid: integer("pid").notNull(),
    pidStartedAt: text("pid_started_at").notNull(),
    capability: jsonb("capability").$type<NodeCapability>().notNull(),
    settings: jsonb("settings").$type<NodeSettings>().notNull().default({}),
    problems: jsonb("problems").$type<readonly NodeProblem[]>().notNull().default([]),
    /** Raised every second. The watch compares values and uses no clock of this node. */
    counter: bigint("counter", { mode: "number" }).notNull().default(0),
    state: text("state").$type<NodeState>().notNull().default("active"),
    /** An admin drained the node; unlike a node that stops by itself, it can be resumed. */
    drainRequested: boolean("drain_requested").notNull().default(false),
    /** An admin asked the process to end once its jobs are done. */
    retireRequested: boolean("retire_requested").notNull().default(false),
    processed: integer("processed").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    startedAt: at("started_at").notNull().defaultNow(),
    seenAt: at("seen_at").notNull().defaultNow(),
    endedAt: at("ended_at"),
  },
  (table) => [
    index("nodes_live")
      .on(table.state)
      .where(sql`${table.state} in ('active', 'draining')`),
    index("nodes_seen").on(table.seenAt),
    check("nodes_name_length", sql`char_length(${table.name}) <= 300`),
  ],
);

/** A queue that a node subscribes to: how many jobs of it at once, and which needs it can serve now. */
export const nodeQueues = pgTable(
  "node_queues",
  {
    nodeId: uuid("node_id")
      .notNull()
      .references(() => nodes.id, { onDelete: "cascade" }),
    queue: text("queue").notNull(),
    /** Jobs at once. */
    slots: integer("slots").notNull(),
    /** Needs that it can serve now. */
    needs: text("needs").array().$type<Need[]>().notNull(),
    /** Needs that it could serve in the last 24 hours: jobs may wait for these needs. */
    seenNeeds: text("seen_needs").array().$type<Need[]>().notNull(),
    /** By need: time of the last write or removal; for needs in `needs` the time may be old. */
    needsSeenAt: jsonb("needs_seen_at").$type<Readonly<Record<string, string>>>().notNull().default({}),
  },
  (table) => [
    primaryKey({ columns: [table.nodeId, table.queue] }),
    index("node_queues_queue").on(table.queue),
  ],
);

/** A workflow of the operator, as a node published it at its registration. */
export const nodeWorkflows = pgTable(
  "node_workflows",
  {
    nodeId: uuid("node_id")
      .notNull()
      .references(() => nodes.id, { onDelete: "cascade" }),
    name: text("name").notNull(),
    /** SHA-256 of graph and manifest: nodes that publish the same name must publish the same content. */
    hash: text("hash").notNull(),
    manifest: jsonb("manifest").notNull(),
    graph: jsonb("graph").notNull(),
  },
  (table) => [primaryKey({ columns: [table.nodeId, table.name] })],
);

export type ServerState = "unknown" | "healthy" | "degraded" | "down" | "draining";

/** A ComfyUI or IOPaint server as a node sees it. */
export const engineServers = pgTable(
  "engine_servers",
  {
    nodeId: uuid("node_id")
      .notNull()
      .references(() => nodes.id, { onDelete: "cascade" }),
    /** Base address without credentials. */
    url: text("url").notNull(),
    engine: text("engine").$type<EngineName>().notNull(),
    /** Short name for people: host and port. */
    label: text("label").notNull(),
    state: text("state").$type<ServerState>().notNull(),
    /** `cuda`, `cpu` and so on, as the server names it. */
    device: text("device"),
    deviceName: text("device_name"),
    vramTotalBytes: bigint("vram_total_bytes", { mode: "number" }),
    vramFreeBytes: bigint("vram_free_bytes", { mode: "number" }),
    version: text("version"),
    /** Needs that it can serve when it is healthy. */
    needs: text("needs").array().$type<Need[]>().notNull(),
    /** What is missing for each workflow that it cannot run. */
    missing: jsonb("missing").$type<Readonly<Record<string, readonly string[]>>>().notNull(),
    /** Needs for which its card may be too small; it offers them all the same. */
    tightNeeds: text("tight_needs").array().$type<Need[]>().notNull().default([]),
    /** Model files that it lists for the workflows. */
    models: text("models").array().notNull().default([]),
    /** LoRAs that it lists, where a workflow takes some. */
    loras: text("loras").array().notNull().default([]),
    /** What else it lists that jobs choose, such as checkpoints and samplers: by node class and input. */
    lists: jsonb("lists").$type<Readonly<Record<string, readonly string[]>>>().notNull().default({}),
    /** Prompts in the server's own queue, including those of other clients. */
    queueLength: integer("queue_length").notNull().default(0),
    runningJobId: uuid("running_job_id"),
    lastError: text("last_error"),
    /** The source that lists it. */
    sources: text("sources").array().notNull(),
    probedAt: at("probed_at"),
    changedAt: at("changed_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.nodeId, table.url] }), index("engine_servers_url").on(table.url)],
);

/**
 * Servers that run one request at a time (IOPaint): the node whose job uses each. A lease is valid while its node is
 * active or draining. When the answer of a run is lost, its row stays.
 */
export const serverLeases = pgTable("server_leases", {
  /** Base address without credentials, as all workers spell it. */
  url: text("url").primaryKey(),
  /** New for each lease; required to end it. */
  token: uuid("token").notNull(),
  nodeId: uuid("node_id").notNull(),
  jobId: uuid("job_id").notNull(),
  takenAt: at("taken_at").notNull().defaultNow(),
  /** Null during the run; set when the answer of the run was lost: the server may still work on it until this time. */
  freeAt: at("free_at"),
});

/** Servers that an admin drains; kept when the nodes that see them end. */
export const serverDrains = pgTable("server_drains", {
  url: text("url").primaryKey(),
  requestedBy: text("requested_by").references(() => users.id, { onDelete: "set null" }),
  requestedAt: at("requested_at").notNull().defaultNow(),
});

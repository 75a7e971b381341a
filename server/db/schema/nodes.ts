import { sql } from "drizzle-orm";
import { bigint, index, integer, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { JobKind } from "../../engines/index.ts";

export type NodeState = "active" | "draining" | "lost" | "gone";

export interface NodeCapability {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kinds: readonly JobKind[];
  readonly engines: readonly string[];
}

/** One process incarnation of a worker; the name is a label. */
export const nodes = pgTable(
  "nodes",
  {
    id: uuid("id").primaryKey(),
    name: text("name").notNull(),
    hostname: text("hostname").notNull(),
    /** Boot id of the host, pid and the start time of that pid: tell a dead predecessor from another host's node. */
    bootId: text("boot_id").notNull(),
    pid: integer("pid").notNull(),
    pidStartedAt: text("pid_started_at").notNull(),
    capability: jsonb("capability").$type<NodeCapability>().notNull(),
    queues: text("queues").array().notNull(),
    slots: integer("slots").notNull(),
    /** Raised every second; only whether it changes matters, never a clock. */
    counter: bigint("counter", { mode: "number" }).notNull().default(0),
    state: text("state").$type<NodeState>().notNull().default("active"),
    processed: integer("processed").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    startedAt: timestamp("started_at", { withTimezone: true }).notNull().defaultNow(),
    seenAt: timestamp("seen_at", { withTimezone: true }).notNull().defaultNow(),
    endedAt: timestamp("ended_at", { withTimezone: true }),
  },
  (table) => [
    index("nodes_live")
      .on(table.state)
      .where(sql`${table.state} in ('active', 'draining')`),
  ],
);

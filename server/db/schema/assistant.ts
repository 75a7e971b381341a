import { sql } from "drizzle-orm";
import {
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./accounts.ts";
import { jobs } from "./jobs.ts";
import { assistantConversations, assistantMessages } from "./memories.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** The question never changes again. */
export const endedQuestionStatuses = ["completed", "failed"] as const;
export type QuestionStatus =
  | "new"
  | "analyzing"
  | "analyzed"
  | "assembling"
  | "ready"
  | "responding"
  | (typeof endedQuestionStatuses)[number];

export const promptRoles = ["analyzer", "assembler", "responder", "archivist"] as const;
export type PromptRole = (typeof promptRoles)[number];

/** What the analyzer found out about a question. */
export interface QuestionAnalysis {
  readonly needsContext: boolean;
  readonly contextType: "none" | "memory" | "gallery" | "both";
  /** Dates (ISO 8601) that the question is about. */
  readonly timeScope: { readonly from: string | null; readonly to: string | null } | null;
  readonly searchKeywords: readonly string[];
  /** Ids of memories that the analyzer was shown and found useful. */
  readonly contextFound: readonly string[];
  /** Whether rules made it, since no model is set up or its answer could not be read. */
  readonly isByRule: boolean;
}

/** What the assembler gives to the responder. */
export interface QuestionContext {
  readonly instructions: string;
  readonly messages: readonly {
    readonly role: "user" | "assistant";
    readonly content: string;
    /** Pictures that the model is shown with it. */
    readonly imageIds?: readonly string[];
  }[];
  /** Facts of pictures are in it, and whom it shows them; none without pictures. */
  readonly pictures?: {
    /** Of the question itself. */
    readonly given: number;
    readonly to: string | null;
  };
  /** Memories and messages that are in it. */
  readonly used: readonly {
    readonly kind: "memory" | "message";
    readonly id: string;
    readonly score: number;
  }[];
  readonly tokens: { readonly total: number; readonly memory: number };
  /** Whether memory was left out or cut to keep the budget. */
  readonly isCut: boolean;
}

/** What an answer shows between its words: `at` is the number of characters before it. */
export type AnswerPart =
  | { readonly type: "images"; readonly at: number; readonly imageIds: readonly string[] }
  | { readonly type: "proposal"; readonly at: number; readonly proposalId: string }
  /** The model was not shown all pictures of the question. */
  | { readonly type: "unseen"; readonly at: number };

/** One question to the assistant; server/assistant/index.ts has its states and says who writes it. */
export const assistantRuns = pgTable(
  "assistant_runs",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    conversationId: uuid("conversation_id")
      .notNull()
      .references(() => assistantConversations.id, { onDelete: "cascade" }),
    questionId: uuid("question_id")
      .notNull()
      .references(() => assistantMessages.id, { onDelete: "cascade" }),
    /** The API key that asked, also after it was revoked; null: a session. */
    apiKeyId: text("api_key_id"),
    /** The answer in the log, when the run completed. */
    answerId: uuid("answer_id"),
    status: text("status").$type<QuestionStatus>().notNull(),
    revision: integer("revision").notNull().default(1),
    /** Raised by each capture; whoever writes must know it. */
    attempt: integer("attempt").notNull().default(0),
    /** Captures whose worker died. */
    losses: integer("losses").notNull().default(0),
    /** The worker that has the stage. */
    nodeId: uuid("node_id"),
    /** The user wants no more of the answer. */
    stopRequestedAt: at("stop_requested_at"),
    analysis: jsonb("analysis").$type<QuestionAnalysis>(),
    context: jsonb("context").$type<QuestionContext>(),
    /** The answer as far as it is stored; it grows while the run is `responding`. */
    answer: text("answer").notNull().default(""),
    /** What the model thought: shown under the answer, never recalled. */
    thinking: text("thinking").notNull().default(""),
    parts: jsonb("parts").$type<readonly AnswerPart[]>().notNull().default([]),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    endedAt: at("ended_at"),
  },
  (table) => [
    index("assistant_runs_conversation").on(table.conversationId, table.createdAt),
    index("assistant_runs_owner").on(table.ownerId, table.createdAt),
    uniqueIndex("assistant_runs_one_open")
      .on(table.conversationId)
      .where(sql`${table.status} not in ('completed', 'failed')`),
    index("assistant_runs_open")
      .on(table.createdAt)
      .where(sql`${table.status} not in ('completed', 'failed')`),
    index("assistant_runs_ended").on(table.endedAt),
  ],
);

/** The story of a run: one row for each status, written by the trigger of the runs. */
export const assistantRunEvents = pgTable(
  "assistant_run_events",
  {
    runId: uuid("run_id")
      .notNull()
      .references(() => assistantRuns.id, { onDelete: "cascade" }),
    revision: integer("revision").notNull(),
    status: text("status").$type<QuestionStatus>().notNull(),
    at: at("at")
      .notNull()
      .default(sql`clock_timestamp()`),
    /** The worker that had the stage. */
    nodeId: uuid("node_id"),
    errorCode: text("error_code"),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.revision] }),
    index("assistant_run_events_age").on(table.at),
  ],
);

/**
 * One call of a language model, stored before it. Spend, rates and times are derived from these rows. They outlive their
 * runs and users, since the money was spent.
 */
export const modelCalls = pgTable(
  "model_calls",
  {
    id: uuid("id").primaryKey(),
    runId: uuid("run_id").references(() => assistantRuns.id, { onDelete: "set null" }),
    ownerId: text("owner_id").references(() => users.id, { onDelete: "set null" }),
    /** Of the question, or of the talk that a call is about later. */
    apiKeyId: text("api_key_id"),
    stage: text("stage")
      .$type<"analyzer" | "responder" | "archivist" | "trial" | "embedding" | "improvement" | "describer">()
      .notNull(),
    /** From 1 within the stage. */
    try: integer("try").notNull(),
    model: text("model").notNull(),
    promptVersion: integer("prompt_version"),
    inputTokens: integer("input_tokens"),
    outputTokens: integer("output_tokens"),
    /** The most that the call can cost, US dollars; it counts as spent until the cost is known. */
    expectedUsd: doublePrecision("expected_usd").notNull(),
    costUsd: doublePrecision("cost_usd"),
    errorClass: text("error_class"),
    startedAt: at("started_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    firstTextAt: at("first_text_at"),
    endedAt: at("ended_at"),
  },
  (table) => [
    index("model_calls_run").on(table.runId),
    index("model_calls_owner").on(table.ownerId, table.startedAt),
    index("model_calls_api_key")
      .on(table.apiKeyId, table.startedAt)
      .where(sql`${table.apiKeyId} is not null`),
    index("model_calls_age").on(table.startedAt),
  ],
);

/** What was noticed about a model of a server of one's own, at one address. */
export const modelNotes = pgTable(
  "model_notes",
  {
    model: text("model").notNull(),
    address: text("address").notNull(),
    /** Parts of the API that it refused. */
    refused: text("refused")
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** Tokens that it read of `sent_tokens`, when it cut a question and said nothing. */
    readTokens: integer("read_tokens"),
    sentTokens: integer("sent_tokens"),
    notedAt: at("noted_at")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.model, table.address] })],
);

/** The prompts of the stages; a version never changes. */
export const prompts = pgTable(
  "prompts",
  {
    role: text("role").$type<PromptRole>().notNull(),
    version: integer("version").notNull(),
    text: text("text").notNull(),
    /** Why it was changed. */
    note: text("note").notNull().default(""),
    isActive: boolean("is_active").notNull().default(false),
    /** Null for the text that came with the product. */
    authorId: text("author_id").references(() => users.id, { onDelete: "set null" }),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [
    primaryKey({ columns: [table.role, table.version] }),
    uniqueIndex("prompts_one_active")
      .on(table.role)
      .where(sql`${table.isActive}`),
  ],
);

/** A job that the assistant proposes; it starts only when the user approves this very request. */
export const proposals = pgTable(
  "proposals",
  {
    id: uuid("id").primaryKey(),
    runId: uuid("run_id")
      .notNull()
      .references(() => assistantRuns.id, { onDelete: "cascade" }),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** Says nothing: an older version, which may run on this schema, told the proposals of a question apart by it. */
    toolCallId: text("tool_call_id").notNull(),
    /** The request as `submit` takes it; approved unchanged or not at all. */
    request: jsonb("request").$type<Record<string, unknown>>().notNull(),
    requestSha256: text("request_sha256").notNull(),
    title: text("title").notNull(),
    state: text("state").$type<"open" | "approved" | "declined">().notNull().default("open"),
    jobId: uuid("job_id").references(() => jobs.id, { onDelete: "set null" }),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
    decidedAt: at("decided_at"),
  },
  (table) => [
    uniqueIndex("proposals_call").on(table.runId, table.toolCallId),
    uniqueIndex("proposals_request").on(table.runId, table.requestSha256),
    index("proposals_owner").on(table.ownerId),
  ],
);

/** What a user decided about the assistant. */
export const assistantSettings = pgTable("assistant_settings", {
  userId: text("user_id")
    .primaryKey()
    .references(() => users.id, { onDelete: "cascade" }),
  /** While it is set, nothing new is remembered and nothing is recalled. */
  isMemoryPaused: boolean("is_memory_paused").notNull().default(false),
  /** Whether a model of the studio may look at this user's pictures without words and describe them. */
  describesPictures: boolean("describes_pictures").notNull().default(true),
  /** That of the browser that asked last, such as `Asia/Tokyo`. */
  timeZone: text("time_zone"),
});

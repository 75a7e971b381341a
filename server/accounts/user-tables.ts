/** How a table holds rows about a user. */
interface UserTable {
  /** Column with the user's id. */
  readonly column: string;
  /** What happens to the rows when the user is deleted; kept ones hold an id that names nobody any more. */
  readonly onDelete: "removed" | "unnamed" | "kept";
  /**
   * How the rows get into the export of the user's data; `rows`: as they are, without the columns of `secrets`; `none`: they
   * only count what is in it.
   */
  readonly inExport: "rows" | "pictures" | "jobs" | "none";
  /** Hashes, tokens and vectors: worth nothing to the user and something to a thief. */
  readonly secrets?: readonly string[];
}

/**
 * Every table with a user's rows, for the deletion and the export of a user's data; `mergeGuest` moves or drops the same
 * tables. A test compares this list with the database, so that no new table is forgotten. What hangs on jobs and pictures
 * goes with them.
 */
export const userTables: Readonly<Record<string, UserTable>> = {
  users: { column: "id", onDelete: "removed", inExport: "rows" },
  sessions: { column: "user_id", onDelete: "removed", inExport: "rows", secrets: ["token"] },
  credentials: {
    column: "user_id",
    onDelete: "removed",
    inExport: "rows",
    secrets: ["password", "access_token", "refresh_token", "id_token"],
  },
  two_factors: {
    column: "user_id",
    onDelete: "removed",
    inExport: "rows",
    secrets: ["secret", "backup_codes"],
  },
  passkeys: {
    column: "user_id",
    onDelete: "removed",
    inExport: "rows",
    secrets: ["public_key", "credential_id"],
  },
  api_keys: { column: "reference_id", onDelete: "removed", inExport: "rows", secrets: ["key"] },
  client_users: { column: "user_id", onDelete: "removed", inExport: "rows" },
  client_files: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  password_resets: { column: "user_id", onDelete: "removed", inExport: "rows", secrets: ["token_hash"] },
  invitations: { column: "created_by", onDelete: "unnamed", inExport: "rows", secrets: ["token_hash"] },
  images: { column: "owner_id", onDelete: "removed", inExport: "pictures" },
  stack_changes: { column: "owner_id", onDelete: "removed", inExport: "none" },
  stack_months: { column: "owner_id", onDelete: "removed", inExport: "none" },
  month_counts: { column: "owner_id", onDelete: "removed", inExport: "none" },
  likenesses: { column: "owner_id", onDelete: "removed", inExport: "rows", secrets: ["hash"] },
  duplicate_pairs: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  direct_uploads: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  jobs: { column: "owner_id", onDelete: "removed", inExport: "jobs" },
  batches: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  wardrobe_items: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  tags: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  boards: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  board_members: { column: "user_id", onDelete: "removed", inExport: "rows" },
  presets: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  edits: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  links: {
    column: "owner_id",
    onDelete: "removed",
    inExport: "rows",
    secrets: ["token_hash", "password_hash"],
  },
  idempotency_keys: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  queue_turns: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  consents: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  provider_attempts: {
    column: "owner_id",
    onDelete: "unnamed",
    inExport: "rows",
    secrets: ["token", "key_id", "urls", "finish_token"],
  },
  daily_spend: { column: "owner_id", onDelete: "unnamed", inExport: "rows" },
  spending_caps: { column: "user_id", onDelete: "removed", inExport: "rows" },
  key_caps: { column: "user_id", onDelete: "removed", inExport: "rows" },
  deliveries: { column: "owner_id", onDelete: "removed", inExport: "rows", secrets: ["lock_token"] },
  webhook_endpoints: {
    column: "owner_id",
    onDelete: "removed",
    inExport: "rows",
    secrets: ["secret", "previous_secret"],
  },
  notification_settings: {
    column: "owner_id",
    onDelete: "removed",
    inExport: "rows",
    secrets: ["code_hash"],
  },
  telegram_links: { column: "user_id", onDelete: "removed", inExport: "rows" },
  telegram_codes: { column: "user_id", onDelete: "removed", inExport: "rows", secrets: ["code_hash"] },
  telegram_requests: { column: "user_id", onDelete: "removed", inExport: "rows" },
  assistant_conversations: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  assistant_messages: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  assistant_runs: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  assistant_settings: { column: "user_id", onDelete: "removed", inExport: "rows" },
  recall_vectors: { column: "owner_id", onDelete: "removed", inExport: "rows", secrets: ["codes"] },
  memories: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  proposals: { column: "owner_id", onDelete: "removed", inExport: "rows" },
  model_calls: { column: "owner_id", onDelete: "unnamed", inExport: "rows" },
  prompts: { column: "author_id", onDelete: "unnamed", inExport: "rows" },
  // Whom an admin acted on is not theirs to take along.
  audit_entries: { column: "actor_id", onDelete: "kept", inExport: "rows", secrets: ["person_id"] },
  server_drains: { column: "requested_by", onDelete: "unnamed", inExport: "rows" },
};

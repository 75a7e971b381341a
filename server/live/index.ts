/**
 * Live: what browsers see at once. A room that has such rows gives one source (`jobs`, `runs` of the assistant); a process
 * has one feed, which hears hints, polls each second for lost ones and reads each changed row once for all its watchers.
 *
 *     hint or poll ─▶ rows to read ─▶ feed ─▶ watchers of the owner ─▶ mailbox of each stream ─▶ browser
 *     progress, words ───────────────▶ feed ─┘
 *
 * Terms. Mark: the state of a row without its content. Live update: what happens between two changes, such as progress
 * and the words of an answer; nothing of it is read from the database. Watcher: receives the changes of one owner.
 *
 * Rules. A stream keeps marks, never what it has sent. The rows decide, hints and live updates may be lost. Without
 * watchers there are no queries. Not here: who may watch (`accounts`), and how a stream travels (`api`).
 */
export { feedOf } from "./feed.ts";
export { createMailbox } from "./mailbox.ts";
export { firstRowsFrom, type LiveSource, type Mark, type Row } from "./source.ts";
export { type Alive, boundStream, listen, saysNothingOfCaller, streamLimits, watch } from "./stream.ts";

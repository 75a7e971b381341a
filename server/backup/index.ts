/**
 * Backup and restore of a whole studio: the rows of the database and the files of the pictures, in one folder.
 *
 *     folder.part ──manifest written, renamed──▶ folder          a backup is whole, or has another name
 *
 *     empty studio ──pictures──▶ store marked as being filled ──rows, one transaction──▶ unfinished
 *         ──migrations, running jobs settled, mark──▶ studio      each step may be repeated
 *
 * - manifest: what the backup holds, with the size and the hash of each file; its migrations tell the version.
 * - list: one line for each file of a picture; its bytes lie under their hash.
 * - mark: of the store. A restored studio gets a new one, so that it and its original refuse each other's stores.
 *
 * Rows are those of one moment; objects never change, so they may be copied after it. Besides `api` the only noun that knows
 * jobs.
 */
export { backUp, type BackupProgress } from "./back-up.ts";
export { checkBackup, restore } from "./restore.ts";

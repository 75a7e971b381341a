export { type PgBouncer, startPgBouncer } from "./pgbouncer.ts";

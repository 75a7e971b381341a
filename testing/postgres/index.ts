export {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
  startTestPostgres,
  type TestPostgres,
} from "./servers.ts";
export { startPrivatePostgres, type PrivatePostgres, startPgvector } from "./private-servers.ts";
export { countStatements } from "./count.ts";
export { endSessions, type EndedSessions, type Hoard, takeAllSessions, whileCut } from "./sessions.ts";

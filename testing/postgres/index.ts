export {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
  startPrivatePostgres,
  type PrivatePostgres,
  startPgvector,
  startTestPostgres,
  type TestPostgres,
} from "./servers.ts";
export { countStatements } from "./count.ts";
export { endSessions, type EndedSessions, type Hoard, takeAllSessions } from "./sessions.ts";

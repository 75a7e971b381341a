export {
  createTestDatabase,
  type TestDatabase,
  startPrivatePostgres,
  type PrivatePostgres,
  startTestPostgres,
  type TestPostgres,
} from "./servers.ts";
export { countStatements } from "./count.ts";

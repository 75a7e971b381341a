export { createTestDatabase, type TestDatabase } from "./create-test-database.ts";
export { startPrivatePostgres, type PrivatePostgres } from "./servers.ts";
export { startTestPostgres, type TestPostgres } from "./start-test-postgres.ts";

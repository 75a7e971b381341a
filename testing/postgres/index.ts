export { createTestDatabase, type TestDatabase } from "./create-test-database.ts";
export { startPrivatePostgres, type PrivatePostgres } from "./start-private-postgres.ts";
export { startTestPostgres, type TestPostgres } from "./start-test-postgres.ts";

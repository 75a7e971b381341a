export { createTestServices, type TestServices, type TestServicesOptions } from "./create-test-services.ts";

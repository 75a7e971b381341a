export { createTestServices, type TestServices, type TestServicesOptions } from "./create-test-services.ts";
export {
  openAccount,
  openAdmin,
  openGuest,
  openTestBrowser,
  testOrigin,
  testPassword,
  type TestBrowser,
} from "./services.ts";
export { openOwner, type TestOwner } from "./owner.ts";
export { captureLog } from "./captured-log.ts";

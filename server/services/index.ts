export { openServices, type OpenServicesInput } from "./open-services.ts";
export type { Services } from "./services.ts";

export { openServices, type OpenServicesInput } from "../services.ts";
export type { Services } from "./services.ts";

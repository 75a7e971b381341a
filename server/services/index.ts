export type { Services } from "./services.ts";

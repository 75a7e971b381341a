export { workOnce } from "./work-once.ts";

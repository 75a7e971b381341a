export { workOnce } from "../once.ts";

export { startWeb, type Web } from "./web.ts";

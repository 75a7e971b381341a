export { addHistory, type History } from "./add-history.ts";

export { openLine, type Line, type LineState } from "./line.ts";

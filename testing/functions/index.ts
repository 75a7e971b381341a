export { type FunctionParts, openFunctionParts } from "./parts.ts";

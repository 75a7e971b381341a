export { askOnly, mayAsk } from "./ask-only.ts";
export { parseFlags, toArgs, usage, type Flags } from "../args.ts";
export { possibleKinds } from "./possible-kinds.ts";
export { retiredExitCode } from "./retired-exit-code.ts";

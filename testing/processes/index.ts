export { killAtExit } from "./kill-at-exit.ts";
export { runCode, runNode, runThrough, type NodeRun } from "./processes.ts";

export { killAtExit } from "./kill-at-exit.ts";
export { runCode, runNode, runThrough, type NodeRun } from "./run-node.ts";

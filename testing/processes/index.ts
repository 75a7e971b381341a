export { runCode, runNode, runThrough, type NodeRun } from "./run-node.ts";

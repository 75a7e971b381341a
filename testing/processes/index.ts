export { runCode, runNode, type NodeRun } from "./run-node.ts";

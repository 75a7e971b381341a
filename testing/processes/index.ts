export { killAtExit, runCode, runNode, runThrough, type NodeRun } from "./processes.ts";

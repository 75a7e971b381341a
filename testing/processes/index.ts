export { killAtExit, runCode, runNode, runThrough, type NodeRun } from "./processes.ts";
export { compileCacheDir, findBundled, findProgram } from "./bundle.ts";

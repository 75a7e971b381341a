/** Makes a node process resolve quickly, given before its script. */
export const quickResolveFlag = `--import=${import.meta.resolve("./quick-resolve.ts")}`;

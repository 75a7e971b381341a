export * from "./accounts.ts";
export * from "./figures.ts";
export * from "./images.ts";
export * from "./job-logs.ts";
export * from "./jobs.ts";
export * from "./nodes.ts";
export * from "./safety.ts";
export * from "./studio.ts";

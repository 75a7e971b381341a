/**
 * Figures for admins and Prometheus: overview, queues, nodes, users, metrics.
 *
 * Reads only, except `rollUp`: it sums the hours that are over into `job_figures`, so that a page costs the same with a million
 * jobs. No decision about a job is made from these figures.
 */
export { type Attention, readOverview, readQueues, type Overview, type QueueFigures } from "./overview.ts";
export { keepFigures, rollUp } from "./roll-up.ts";
export { metricsText } from "./metrics.ts";
export { type Family, type Sample, seconds } from "./open-metrics.ts";
export { type Times, windowNames, type FigureWindow } from "./figures.ts";
export { readNodes, type NodeFigures, type NodeJob, type ServerFigures } from "./nodes.ts";
export { listUsersSchema, readUser, readUsers, type UserFigures } from "./users.ts";

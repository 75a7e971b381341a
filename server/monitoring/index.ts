export { type Attention, readOverview, type Overview, type QueueFigures } from "./overview.ts";
export { keepFigures, rollUp } from "./roll-up.ts";
export { metricsText } from "./metrics.ts";
export {
  type EndedFigures,
  type EstimateFigures,
  type Series,
  type Times,
  windowNames,
  type FigureWindow,
} from "./figures.ts";
export { readNodes, type NodeFigures, type NodeJob, type ServerFigures } from "./nodes.ts";
export {
  countedJobs,
  listUsersSchema,
  readUsers,
  type ListUsersInput,
  type UserFigures,
  type UserPage,
} from "./users.ts";

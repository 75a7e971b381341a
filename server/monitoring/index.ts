export type { Attention } from "./overview.ts";
export { keepFigures } from "./keep-figures.ts";
export { metricsText } from "./metrics.ts";
export type { EndedFigures, EstimateFigures, Series, Times } from "./figures.ts";
export { readNodes, type NodeFigures, type NodeJob, type ServerFigures } from "./nodes.ts";
export { readOverview, type Overview, type QueueFigures } from "./read-overview.ts";
export {
  countedJobs,
  listUsersSchema,
  readUsers,
  type ListUsersInput,
  type UserFigures,
  type UserPage,
} from "./users.ts";
export { rollUp } from "./roll-up.ts";
export { windowNames, type FigureWindow } from "./window.ts";

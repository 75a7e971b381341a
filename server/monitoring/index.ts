export type { Attention } from "./attention.ts";
export { keepFigures } from "./keep-figures.ts";
export { metricsText } from "./metrics-text.ts";
export type { EndedFigures, EstimateFigures, Series, Times } from "./read-figures.ts";
export { readNodes, type NodeFigures, type NodeJob, type ServerFigures } from "./read-nodes.ts";
export { readOverview, type Overview, type QueueFigures } from "./read-overview.ts";
export {
  countedJobs,
  listUsersSchema,
  readUsers,
  type ListUsersInput,
  type UserFigures,
  type UserPage,
} from "./read-users.ts";
export { rollUp } from "./roll-up.ts";
export { windowNames, type FigureWindow } from "./window.ts";

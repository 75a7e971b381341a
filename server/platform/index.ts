export {
  AppError,
  isAppError,
  isErrorCode,
  isOutOfSpace,
  ruleOf,
  toAppError,
  toProblem,
  type Problem,
  errorRules,
  type ErrorCode,
  type ErrorRule,
  issuesOf,
  type FieldIssue,
} from "./errors.ts";
export { isLoopback, namesLoopback } from "./addresses.ts";
export { isId, newId, isStorable, lineOfText, foreignBytes, foreignCount, foreignText } from "./text.ts";
export { envNames, inspectEnv, parseEnv, type ConfigProblem, type Env } from "./env.ts";
export {
  defineConfig,
  loadConfig,
  parseConfig,
  type Config,
  type ConfigInput,
  type QueueNeeds,
  pictureLimits,
} from "./config.ts";
export { openLog, type Logger, type LogOptions } from "./log.ts";
